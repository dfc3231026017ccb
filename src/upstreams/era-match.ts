import type { Call, ServerDescription, Session, UpstreamMemory } from '../api/index.ts'
import { GatewayError } from '../errors/errors.ts'
import { isObject } from '../protocol/json/json.ts'
import { METHODS } from '../protocol/methods.ts'
import type { Connection } from './connection/connection.ts'
import type { Supervisor } from './supervisor.ts'
import { isInitializeRefusal } from './connection/handshake.ts'

const MEMORY_KEY = 'eras'

/** A verdict of "modern only" never corrects itself, so it does not hold for ever. */
const VERDICT_TTL_MS = 24 * 60 * 60_000

/** A server that fails so often before it ever spoke the legacy era is not asked again. */
const MAX_FAILURES = 3

/** Capabilities of a client by which a legacy server may ask it. */
const INPUT_CAPABILITIES = ['elicitation', 'sampling', 'roots']

/** Dependencies of the choice. */
interface EraMatchDeps {
  /** True with `era: match`. */
  readonly isOn: boolean
  readonly memory: UpstreamMemory | undefined
}

/**
 * Chooses the era of a call where a modern server may speak the legacy one as well. A legacy client that can be asked for
 * something is spoken for in its own: there a tool asks by requests of its own, which the modern era does not have.
 */
export class EraMatch {
  readonly #isOn: boolean
  readonly #memory: UpstreamMemory | undefined
  /** Supervisors of connections in another era than the main one. */
  readonly #otherEra = new WeakSet<Supervisor>()
  #main: Connection | undefined
  /** True while some calls may be made beside the main connection, as they are of another era. */
  #mayDiffer = false
  /** The server that speaks the modern era alone, as it calls itself. */
  #modernOnly: string | undefined
  #failures = 0
  #lastFailure: unknown
  /** True once the server was spoken to in the legacy era. */
  #isConfirmed = false

  constructor({ isOn, memory }: EraMatchDeps) {
    this.#isOn = isOn
    this.#memory = memory
    const saved = isOn ? memory?.read(MEMORY_KEY) : undefined
    if (!isObject(saved) || typeof saved.modernOnly !== 'string') return
    if (Math.abs(Date.now() - Number(saved.seenAt)) < VERDICT_TTL_MS) this.#modernOnly = saved.modernOnly
  }

  /** The main connection is this one now; undefined when there is none. */
  follow(main: Connection | undefined): void {
    this.#main = main
    const server = main?.server
    this.#mayDiffer = this.#isOn && server?.era === 'modern' && getServerIdentity(server) !== this.#modernOnly
  }

  /** Notes the supervisor of a connection in another era than the main one. */
  addSupervisor(supervisor: Supervisor): void {
    this.#otherEra.add(supervisor)
  }

  /** Tells if the state of a supervisor says something of the server. Whether it speaks another era is only tried, at first. */
  describesServer(supervisor: Supervisor): boolean {
    if (!this.#otherEra.has(supervisor)) return true
    if (supervisor.state === 'ready') this.#isConfirmed = true
    return this.#isConfirmed
  }

  /** Tells if a call is made in another era than that of the main connection, where that is up. */
  usesOtherEra(call: Call, main: Connection): boolean {
    return (
      this.#mayDiffer && METHODS.get(call.method)?.to !== 'list' && this.getCallEra(call, main) !== undefined
    )
  }

  /**
   * The connection of a call, once it is up. Where that is one of another era and does not come up, the call takes what
   * `otherwise` says instead; `isOver` tells that the other era is not tried again.
   */
  async ready(
    supervisor: Supervisor,
    call: Call,
    main: Connection,
    otherwise: (isOver: boolean) => Supervisor,
  ): Promise<Connection | undefined> {
    if (!this.#otherEra.has(supervisor)) return supervisor.waitUntilReady(call)
    try {
      return await supervisor.waitUntilReady(call)
    } catch (error) {
      return otherwise(this.#recordFailure(error, main)).waitUntilReady(call)
    }
  }

  /** The era of a session's calls, where it is not that of the main connection. */
  getSessionEra({ client }: Session, main: Connection): 'legacy' | undefined {
    if (client.era !== 'legacy' || !INPUT_CAPABILITIES.some(what => isObject(client.capabilities[what])))
      return undefined
    return this.#mayDiffer && main === this.#main ? 'legacy' : undefined
  }

  /** The same for a call. A task is made and looked at where its server has tasks. */
  getCallEra({ method, mayBeTask, exchange }: Call, main: Connection): 'legacy' | undefined {
    return mayBeTask === true || method.startsWith('tasks/')
      ? undefined
      : this.getSessionEra(exchange.session, main)
  }

  /** The legacy era was tried, and did not come up. True when it is not tried again. */
  #recordFailure(error: unknown, { server, transport }: Connection): boolean {
    // Many calls may have waited for one attempt. What goes wrong on a network says nothing of the server.
    if (error !== this.#lastFailure && !transport.streams && isServerFailure(error)) this.#failures++
    this.#lastFailure = error
    const isOver = isInitializeRefusal(error) || (!this.#isConfirmed && this.#failures >= MAX_FAILURES)
    if (isOver && server !== undefined) {
      this.#modernOnly = getServerIdentity(server)
      this.#mayDiffer = false
      this.#memory?.write(MEMORY_KEY, { modernOnly: this.#modernOnly, seenAt: Date.now() })
    }
    return isOver
  }

  clear(): void {
    this.#modernOnly = undefined
    this.#failures = 0
    this.#isConfirmed = false
  }
}

/** True for a process that ended, or said nothing in its time. */
function isServerFailure(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'GW_UPSTREAM_START'
}

function getServerIdentity({ info, version }: ServerDescription): string {
  return JSON.stringify([info.name, info.version, version])
}
