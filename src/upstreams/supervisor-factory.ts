import type { Session, UpstreamContext, UpstreamState } from '../api/index.ts'
import type { Reason } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import type { Era } from '../protocol/methods.ts'
import { getChangedKinds } from '../protocol/methods.ts'
import { GarbageBudget, DroppedMessages } from '../net/unexpected-messages.ts'
import { parseDuration } from '../util/units.ts'
import { Connection } from './connection/connection.ts'
import { EraMemory, performHandshake } from './connection/handshake.ts'
import { createListChanges } from './subscriptions/subscriptions.ts'
import { Supervisor } from './supervisor.ts'
import type { ConnectionEvents, ConnectionDeps, McpUpstreamConfig, Transport } from './transport.ts'

/** Opens a transport; `cwd` is for processes. */
export type OpenTransport = (events: ConnectionEvents, cwd: string | undefined) => Transport

const MAX_PROBE_MS = 5000
/** Task status notification: task ids belong to one connection (2025-11-25, tasks). */
const TASK_STATUS = 'notifications/tasks/status'

/** Supervisor options. */
interface SupervisorOptions {
  /** Client capabilities for `initialize`. */
  readonly capabilities: JsonObject
  /** Process working directory; default: from its spec. */
  readonly cwd: string | undefined
  /** Connection era; default: from the spec. */
  readonly era?: Era | undefined
  retries(): boolean
  /** Returns a filter for the sessions on its connection; undefined if all sessions match. */
  sessions?: ((supervisor: Supervisor) => ((session: Session) => boolean) | undefined) | undefined
  /** True if a session's calls use its connection. */
  isUsedBy(supervisor: Supervisor, session: Session): boolean
  changed(supervisor: Supervisor, state: UpstreamState, connection: Connection | undefined): void
  lost(supervisor: Supervisor, connection: Connection, reason: Reason): void
}

/** Returns a filter for the sessions to notify about a change on a supervisor's connection; undefined for all. */
type FindAudience = (supervisor: Supervisor) => ((session: Session) => boolean) | undefined

/** Creates one upstream's supervisors. */
export class SupervisorFactory {
  readonly memory: EraMemory
  readonly drops: DroppedMessages
  readonly #spec: McpUpstreamConfig
  readonly #context: UpstreamContext
  readonly #connect: OpenTransport
  readonly #audience: FindAudience

  constructor(spec: McpUpstreamConfig, context: UpstreamContext, connect: OpenTransport, audience: FindAudience) {
    this.#spec = spec
    this.#context = context
    this.#connect = connect
    this.#audience = audience
    this.memory = new EraMemory(context.clock)
    this.drops = new DroppedMessages(context.log, new GarbageBudget(context.clock))
  }

  createSupervisor(keeping: SupervisorOptions): Supervisor {
    const { capabilities, cwd, era, retries, changed, lost } = keeping
    const { name, log, clock, gateway, processLimiter, hide } = this.#context
    const { startupTimeout, maxLifetime, type } = this.#spec
    const startupMs = parseDuration(startupTimeout)
    const probeMs = Math.min(MAX_PROBE_MS, startupMs / 3)
    const handshakeDeps = {
      upstream: name,
      era: era ?? getConfiguredEra(this.#spec),
      memory: this.memory,
      gateway,
      clock,
      probeMs,
    }
    const open = (): Connection => new Connection(host, events => this.#connect(events, cwd))
    const supervisor: Supervisor = new Supervisor({
      name,
      log,
      clock,
      hide,
      startupMs,
      lifetimeMs: maxLifetime === undefined ? undefined : parseDuration(maxLifetime),
      isProcess: type === 'stdio',
      retries,
      enter: () => (type === 'stdio' ? processLimiter?.requestPermit() : undefined),
      connect: own => performHandshake({ ...handshakeDeps, capabilities, open: () => own(open) }),
      changed: (state, connection) => changed(supervisor, state, connection),
    })
    const host = this.#connectionHost(supervisor, keeping, (connection, reason) => lost(supervisor, connection, reason))
    return supervisor
  }

  #connectionHost(
    supervisor: Supervisor,
    { sessions, isUsedBy }: SupervisorOptions,
    closed: ConnectionDeps<Connection>['closed'],
  ): ConnectionDeps<Connection> {
    const context = this.#context
    const { roots } = context
    return {
      name: context.name,
      log: context.log,
      clock: context.clock,
      drops: this.drops,
      notify: notification => {
        const { method } = notification
        const isTask = method === TASK_STATUS
        if (getChangedKinds(method).length > 0) context.notify(notification)
        else if (isTask) context.notify(notification, session => isUsedBy(supervisor, session))
        else context.notify(notification, this.#audience(supervisor))
      },
      clients: context,
      isOnlyClient: roots && (session => roots.isOnly(session, sessions?.(supervisor))),
      listRoots: roots && (ask => roots.list(ask, sessions?.(supervisor))),
      missed: ({ server }) => createListChanges(server).forEach(change => context.notify(change)),
      closed,
    }
  }
}

/**
 * The main connection's era. With `match` it is detected, and clients in the other era get another connection.
 */
function getConfiguredEra({ era }: McpUpstreamConfig): 'auto' | Era {
  return era === 'match' ? 'auto' : era
}
