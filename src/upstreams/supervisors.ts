import type { Ask, AskReply, Session, UpstreamConfig, UpstreamContext, UpstreamState } from '../api/index.ts'
import { replyFor } from '../protocol/era/asks.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { GarbageBudget } from '../transport/garbage-budget.ts'
import { Drops } from '../transport/unexpected-messages.ts'
import { parseDuration } from '../util/units.ts'
import { Link } from './connection/connection.ts'
import { EraMemory } from './connection/era-cache.ts'
import { shakeHands } from './connection/handshake.ts'
import { Behaviours } from './serialization/tool-behaviour.ts'
import { changesOf } from './subscriptions/subscription.ts'
import { Supervisor } from './supervisor.ts'
import type { LinkHost, Wire, WireEvents } from './transport.ts'

/** Opens what carries a link; a process runs in `cwd`, where that is given. */
export type Connect = (events: WireEvents, cwd: string | undefined) => Wire

const PROBE_MS = 5000
/** How a task does: ids of tasks are those of one link (2025-11-25, tasks). */
const TASK_STATUS = 'notifications/tasks/status'

/** What differs between the supervisors of one upstream. */
export interface Keeping {
  /** What the clients of this link can be asked for, as `initialize` says it. */
  readonly capabilities: JsonObject
  /** Where a process runs; undefined for where its spec says. */
  readonly cwd: string | undefined
  retries(): boolean
  /** Which sessions use its link; undefined where all of them may. */
  sessions?: ((supervisor: Supervisor) => ((session: Session) => boolean) | undefined) | undefined
  /** Whether the calls of a session take its link. */
  isUsedBy(supervisor: Supervisor, session: Session): boolean
  changed(supervisor: Supervisor, state: UpstreamState, link: Link | undefined): void
  lost(supervisor: Supervisor, link: Link, why: string): void
}

/** Whom a change is told that came by the link of a supervisor; undefined for everybody. */
export type Audience = (supervisor: Supervisor) => ((session: Session) => boolean) | undefined

/** Makes the supervisors of one upstream, and knows what they have in common. */
export class Supervisors {
  readonly memory: EraMemory
  readonly drops: Drops
  readonly #behaviours = new Behaviours()
  readonly #spec: UpstreamConfig
  readonly #context: UpstreamContext
  readonly #connect: Connect
  readonly #audience: Audience

  constructor(spec: UpstreamConfig, context: UpstreamContext, connect: Connect, audience: Audience) {
    this.#spec = spec
    this.#context = context
    this.#connect = connect
    this.#audience = audience
    this.memory = new EraMemory(context.clock)
    this.drops = new Drops(context.log, new GarbageBudget(context.clock))
  }

  make({ capabilities, cwd, retries, sessions, isUsedBy, changed, lost }: Keeping): Supervisor {
    const { name, log, clock, gateway, room, hide } = this.#context
    const { startupTimeout, maxLifetime, era, type } = this.#spec
    const startupMs = parseDuration(startupTimeout)
    const probeMs = Math.min(PROBE_MS, startupMs / 3)
    const known = { upstream: name, era, memory: this.memory, gateway, clock, probeMs }
    const open = (): Link => new Link(host, events => this.#connect(events, cwd))
    const supervisor: Supervisor = new Supervisor({
      name,
      log,
      clock,
      hide,
      startupMs,
      lifetimeMs: maxLifetime === undefined ? undefined : parseDuration(maxLifetime),
      isProcess: type === 'stdio',
      retries,
      enter: () => (type === 'stdio' ? room?.enter() : undefined),
      connect: own => shakeHands({ ...known, capabilities, open: () => own(open) }),
      changed: (state, link) => changed(supervisor, state, link),
    })
    const host = this.#linkHost(supervisor, { sessions, isUsedBy }, (link, why) =>
      lost(supervisor, link, why),
    )
    return supervisor
  }

  #linkHost(
    supervisor: Supervisor,
    { sessions, isUsedBy }: Pick<Keeping, 'sessions' | 'isUsedBy'>,
    closed: LinkHost<Link>['closed'],
  ): LinkHost<Link> {
    const context = this.#context
    const { roots } = context
    const fitted = (ask: Ask, reply: AskReply): AskReply => {
      const version = supervisor.link?.server?.version
      if (!('result' in reply) || version === undefined) return reply
      return { result: replyFor(ask.method, reply.result, version) }
    }
    return {
      name: context.name,
      log: context.log,
      clock: context.clock,
      drops: this.drops,
      behaviours: this.#behaviours,
      notify: notification =>
        context.notify(
          notification,
          notification.method === TASK_STATUS
            ? session => isUsedBy(supervisor, session)
            : this.#audience(supervisor),
        ),
      ask: async (ask, exchange) => fitted(ask, await context.ask(ask, exchange)),
      isOnlyClient: roots && (session => roots.isOnly(session, sessions?.(supervisor))),
      listRoots:
        roots &&
        (async ask => {
          const listed = await roots.list(ask, sessions?.(supervisor))
          return listed && { ...listed, reply: fitted(ask, listed.reply) }
        }),
      missed: ({ server }) => changesOf(server).forEach(change => context.notify(change)),
      closed,
    }
  }
}
