import type { Call, ServerDescription, Session, UpstreamMemory } from '../api/index.ts'
import { GatewayError } from '../errors/errors.ts'
import { isObject } from '../protocol/json/json.ts'
import { METHODS } from '../protocol/methods.ts'
import type { Connection } from './connection/connection.ts'
import type { Supervisor } from './supervisor.ts'
import { isInitializeRefusal } from './connection/handshake.ts'

const MEMORY_KEY = 'eras'

/** Lifetime of a "modern only" verdict, which is never re-checked otherwise. */
const VERDICT_TTL_MS = 24 * 60 * 60_000

/** Failures after which a server that never used the legacy era is not tried again. */
const MAX_FAILURES = 3

/** Client capabilities that allow requests by a legacy server. */
const INPUT_CAPABILITIES = ['elicitation', 'sampling', 'roots']

interface EraMatchDeps {
  readonly isOn: boolean
  readonly memory: UpstreamMemory | undefined
}

/**
 * Chooses the era for a call if a modern server may support the legacy one as well. A legacy client with input
 * capabilities gets a legacy connection: tools there send requests that the modern era does not have.
 */
export class EraMatch {
  readonly #isOn: boolean
  readonly #memory: UpstreamMemory | undefined
  /** Supervisors for connections in the other era. */
  readonly #otherEra = new WeakSet<Supervisor>()
  #main: Connection | undefined
  /** True while some calls may use a connection in another era. */
  #mayDiffer = false
  /** Name and version, if the server supports only the modern era. */
  #modernOnly: string | undefined
  #failures = 0
  #lastFailure: unknown
  /** True once the server answered in the legacy era. */
  #isConfirmed = false

  constructor({ isOn, memory }: EraMatchDeps) {
    this.#isOn = isOn
    this.#memory = memory
    const saved = isOn ? memory?.read(MEMORY_KEY) : undefined
    if (!isObject(saved) || typeof saved.modernOnly !== 'string') return
    if (Math.abs(Date.now() - Number(saved.seenAt)) < VERDICT_TTL_MS) this.#modernOnly = saved.modernOnly
  }

  /** Follows the main connection; undefined when it closed. */
  follow(main: Connection | undefined): void {
    this.#main = main
    const server = main?.server
    this.#mayDiffer = this.#isOn && server?.era === 'modern' && getServerIdentity(server) !== this.#modernOnly
  }

  addSupervisor(supervisor: Supervisor): void {
    this.#otherEra.add(supervisor)
  }

  /** True if a supervisor's state reflects the server's. The first attempts in another era do not. */
  describesServer(supervisor: Supervisor): boolean {
    if (!this.#otherEra.has(supervisor)) return true
    if (supervisor.state === 'ready') this.#isConfirmed = true
    return this.#isConfirmed
  }

  /** True if a call uses another era than the ready main connection. */
  usesOtherEra(call: Call, main: Connection): boolean {
    return this.#mayDiffer && METHODS.get(call.method)?.to !== 'list' && this.getCallEra(call, main) !== undefined
  }

  /**
   * Returns the connection for a call once it is ready. If a connection in the other era fails, returns `otherwise`
   * instead; `isOver` reports that the other era is not tried again.
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

  /** The era for a session's calls, if it differs from the main connection's. */
  getSessionEra({ client }: Session, main: Connection): 'legacy' | undefined {
    if (client.era !== 'legacy' || !INPUT_CAPABILITIES.some(capability => isObject(client.capabilities[capability])))
      return undefined
    return this.#mayDiffer && main === this.#main ? 'legacy' : undefined
  }

  /** The same for a call. Tasks exist only in the server's own era. */
  getCallEra({ method, mayBeTask, exchange }: Call, main: Connection): 'legacy' | undefined {
    return mayBeTask === true || method.startsWith('tasks/') ? undefined : this.getSessionEra(exchange.session, main)
  }

  /** Records a failed legacy connection. Returns true if the era is not tried again. */
  #recordFailure(error: unknown, { server, transport }: Connection): boolean {
    // Many calls may share one attempt. Network errors do not reflect the server's support.
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

  forgetEra(): void {
    this.#modernOnly = undefined
    this.#failures = 0
    this.#isConfirmed = false
  }
}

/** True if a process exited or timed out. */
function isServerFailure(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'GW_UPSTREAM_START'
}

function getServerIdentity({ info, version }: ServerDescription): string {
  return JSON.stringify([info.name, info.version, version])
}
