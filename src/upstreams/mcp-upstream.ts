import type {
  Answer,
  Call,
  ServerDescription,
  Session,
  Upstream,
  UpstreamContext,
  UpstreamMemory,
  UpstreamRuntime,
  UpstreamState,
} from '../api/index.ts'
import { describeReason, GatewayError, needsAuth, getOwnerProblem } from '../errors/errors.ts'
import { METHODS, isLegacy, isModern } from '../protocol/methods.ts'
import { createCancelledAnswer } from './connection/translate-call.ts'
import { EraDoubt } from './connection/handshake.ts'
import { SessionDoubt, isSessionError } from './http/http-failures.ts'
import { Connections } from './connections.ts'
import type { OpenTransport } from './supervisor-factory.ts'
import { SupervisorFactory } from './supervisor-factory.ts'
import { fingerprintTls } from './tls-files.ts'
import type { Connection } from './connection/connection.ts'
import { ClientInterest, UNSUBSCRIBE } from './subscriptions/client-interest.ts'
import { isObject } from '../protocol/json/json.ts'
import type { McpUpstreamConfig } from './transport.ts'
import type { RpcError } from '../protocol/rpc-error.ts'

const MEMORY_KEY = 'server'

/** Limit for a stored server description, in JSON characters. */
const MAX_SERVER_LENGTH = 256 * 1024

/** Interval at which an unchanged verdict is stored again, to refresh its age. */
const NOTE_INTERVAL_MS = 60 * 60_000

const WINDOW_MS = 1000

/** Log lines per second; more are only counted, so that a failing server does not flood the log. */
const MAX_LOGGED = 10

const OTHER_ERA = 'the protocol era of the server changed'

/** Read-only methods, which may be sent twice. */
const REPEATABLE: ReadonlySet<string> = new Set(
  [...METHODS]
    .filter(([method, row]) => row.to !== 'gateway' && row.era === undefined && method !== 'tools/call')
    .map(([method]) => method),
)

/** A configured MCP server over any transport: kept running, in its own era. */
export class McpUpstream implements Upstream {
  readonly name: string
  readonly spec: McpUpstreamConfig
  /** Last server description; retained while the server is down, so that its features stay known. */
  server: ServerDescription | undefined
  readonly #context: UpstreamContext
  readonly #supervisors: SupervisorFactory
  readonly #connections: Connections
  readonly #eraDoubt: EraDoubt
  readonly #sessionDoubt: SessionDoubt
  readonly #interest: ClientInterest
  readonly #storedServer: StoredServer
  readonly #refusals: RefusalLog
  readonly #tlsFiles: string

  constructor(spec: McpUpstreamConfig, context: UpstreamContext, connect: OpenTransport) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#tlsFiles = fingerprintTls(spec, context)
    this.#eraDoubt = new EraDoubt(context)
    this.#sessionDoubt = new SessionDoubt(context.clock)
    this.#interest = new ClientInterest(context, session => this.#connections.findOwnSupervisor(session))
    this.#supervisors = new SupervisorFactory(spec, context, connect, supervisor =>
      this.#interest.getAudience(supervisor),
    )
    this.#storedServer = new StoredServer(context.memory)
    this.server = this.#storedServer.server
    if (this.server !== undefined) this.#supervisors.memory.setEra(this.server.era, this.#storedServer.ageMs)
    this.#connections = new Connections({
      spec,
      context,
      supervisors: this.#supervisors,
      isWatched: supervisor => this.#interest.isWatched(supervisor),
      moved: supervisor => this.#interest.handleConnectionChange(supervisor),
      changed: (state, connection) => this.#handleMainChange(state, connection),
      opened: connection => this.#interest.handleConnectionUp(connection),
    })
    this.#refusals = new RefusalLog(context, problem => this.#connections.recordProblem(problem))
  }

  get state(): UpstreamState {
    return this.#connections.main.state
  }

  get problem(): string | undefined {
    return this.#connections.main.problem
  }

  get problemDetail(): string | undefined {
    return this.#connections.main.problemDetail
  }

  get pid(): number | undefined {
    return this.#connections.main.connection?.transport.pid
  }

  get dropped(): Readonly<Record<string, number>> | undefined {
    return this.#supervisors.drops.counts
  }

  get runtime(): UpstreamRuntime {
    return this.#connections.runtime
  }

  get memory(): UpstreamMemory | undefined {
    return this.#context.memory
  }

  get isRemembered(): boolean {
    return this.server !== undefined && !this.#storedServer.isConfirmed
  }

  get isOutdated(): boolean {
    return fingerprintTls(this.spec, this.#context) !== this.#tlsFiles
  }

  /** True while a client waits for notifications. */
  get isWatched(): boolean {
    return this.#interest.isWatched()
  }

  get degraded(): string | undefined {
    return this.#supervisors.drops.degraded
  }

  start(): Promise<void> {
    return this.#connections.start()
  }

  async stop(): Promise<void> {
    this.#interest.stop()
    await this.#connections.stop()
  }

  onSessionEnd(session: Session): void {
    this.#interest.forgetSession(session, () => this.#connections.listConnections())
    this.#connections.sessionEnded(session)
  }

  onRootsChange(changed: readonly Session[]): void {
    this.#connections.rootsChanged(changed)
  }

  async dispatch(call: Call): Promise<Answer> {
    if (call.method === UNSUBSCRIBE) return this.#interest.unsubscribe(call)
    const connection = this.#connections.getReadyConnection(call) ?? (await this.#connections.waitForConnection(call))
    if (connection === undefined) return createCancelledAnswer()
    const { use } = connection
    use.acquire()
    try {
      const answer = await this.#interest.callServer(call, connection)
      if ('error' in answer && isSessionLost(answer.error, connection))
        return await this.#renewSession(connection, call, answer)
      return 'error' in answer && this.#isEraDoubted(answer.error.code, call.method, connection)
        ? await this.#recoverFromAnswer(connection, call, answer)
        : answer
    } catch (error) {
      this.#refusals.logRefusal(error, call.method)
      return await this.#recoverFromError(connection, call, error)
    } finally {
      use.release()
    }
  }

  #handleMainChange(state: UpstreamState, connection: Connection | undefined): void {
    const { name, pid } = this
    const { log } = this.#context
    const problem = getOwnerProblem(this)
    if (connection?.server !== undefined) this.#canSendIn(connection.server)
    const { era, version } = connection?.server ?? {}
    if (state === 'failed') log.warn('upstream not available', { upstream: name, problem })
    if (state === 'needs_auth') log.warn('upstream requires a login', { upstream: name, problem })
    if (state === 'ready') log.info('upstream ready', { upstream: name, era, version, pid })
    this.#interest.setMainConnection(state === 'ready' ? connection : undefined)
    this.#context.reportState(state, problem)
  }

  #canSendIn(server: ServerDescription): void {
    if (server === this.server) return
    this.server = server
    this.#storedServer.saveServer(server)
  }

  /** A connection in the client's era does not affect the main one's: the server supports both. */
  #isEraDoubted(code: number, method: string, connection: Connection): boolean {
    return this.#isInMainEra(connection) && this.#eraDoubt.isRejected(code, method, connection)
  }

  #isEraDoubtedByStatus(status: number, connection: Connection): boolean {
    return this.#isInMainEra(connection) && this.#eraDoubt.isRaisedByStatus(status, connection)
  }

  #isInMainEra({ server }: Connection): boolean {
    return server?.era === this.server?.era
  }

  /** Probes again, as the server may have been replaced; restarts if it changed. */
  async #recoverFromAnswer(connection: Connection, call: Call, answer: Answer): Promise<Answer> {
    if (!(await this.#eraDoubt.isConfirmed(connection))) return answer
    this.#restart()
    return REPEATABLE.has(call.method) ? this.#retryCall(call) : answer
  }

  async #renewSession(connection: Connection, call: Call, answer: Answer): Promise<Answer> {
    this.#connections.reconnect(connection, 'session expired')
    return REPEATABLE.has(call.method) ? this.#retryCall(call) : answer
  }

  async #recoverFromError(connection: Connection, call: Call, error: unknown): Promise<Answer> {
    if (!(error instanceof GatewayError)) throw error
    if (needsAuth(error)) {
      this.#connections.handleAuthRequired(connection, error)
      throw error
    }
    const { sessionLost, stale, status, unheard } = error.fields
    // A stale socket does not reflect the connection. The caller decides whether to retry.
    if (stale === true) throw error
    if (sessionLost === true) this.#connections.reconnect(connection, String(error.fields.why))
    else if (!(await this.#reconnectIfLost(connection, status))) throw error
    if (unheard !== true && !REPEATABLE.has(call.method)) throw error
    return this.#retryCall(call)
  }

  /** Restarts if a status means a lost session, or a server in another era. */
  async #reconnectIfLost(connection: Connection, status: unknown): Promise<boolean> {
    if (typeof status !== 'number') return false
    if (await this.#sessionDoubt.isConfirmed(connection)) {
      this.#connections.reconnect(connection, `session rejected (HTTP ${status})`)
      return true
    }
    if (!this.#isEraDoubtedByStatus(status, connection) || !(await this.#eraDoubt.isConfirmed(connection))) return false
    this.#restart()
    return true
  }

  #restart(): void {
    this.#supervisors.memory.forgetEra()
    this.#connections.restart(OTHER_ERA)
  }

  async #retryCall(call: Call): Promise<Answer> {
    const connection = await this.#connections.waitForConnection(call)
    if (connection === undefined) return createCancelledAnswer()
    connection.use.acquire()
    try {
      return await this.#interest.callServer(call, connection)
    } finally {
      connection.use.release()
    }
  }
}

/** Logs server errors for the owner only, as the text may quote credentials. */
class RefusalLog {
  readonly #context: UpstreamContext
  readonly #storeProblem: (problem: string) => void
  #windowStart = -Infinity
  #count = 0

  /** `storeProblem` stores the last one for `ps` and `inspect`. */
  constructor(context: UpstreamContext, storeProblem: (problem: string) => void) {
    this.#context = context
    this.#storeProblem = storeProblem
  }

  logRefusal(error: unknown, method: string): void {
    if (!(error instanceof GatewayError) || error.detail === undefined) return
    const { log, clock, hide } = this.#context
    const why = hide(describeReason({ why: String(error.fields.why ?? error.message), detail: error.detail }))
    this.#storeProblem(why)
    if (clock.now() - this.#windowStart >= WINDOW_MS) this.#startWindow()
    if (++this.#count <= MAX_LOGGED) log.warn('call rejected by the server', { method, code: error.code, why })
  }

  #startWindow(): void {
    if (this.#count > MAX_LOGGED)
      this.#context.log.warn('more calls rejected by the server', { count: this.#count - MAX_LOGGED })
    this.#windowStart = this.#context.clock.now()
    this.#count = 0
  }
}

/** A server description from an earlier run, so that clients can initialize before the server runs. */
class StoredServer {
  readonly server: ServerDescription | undefined
  readonly ageMs: number
  /** True after contact in this run. */
  isConfirmed = false
  readonly #memory: UpstreamMemory | undefined
  #text = ''
  #seenAt = 0

  constructor(memory: UpstreamMemory | undefined) {
    this.#memory = memory
    const saved = memory?.read(MEMORY_KEY)
    const { server, seenAt } = isObject(saved) ? saved : {}
    const age = Date.now() - Number(seenAt)
    // The clock may have been set back: treat future times as now.
    this.ageMs = age > 0 ? age : 0
    this.server = isServerDescription(server) ? server : undefined
    if (this.server === undefined) return
    this.#text = JSON.stringify(this.server)
    this.#seenAt = Date.now() - this.ageMs
  }

  saveServer(server: ServerDescription): void {
    this.isConfirmed = true
    if (this.#memory === undefined) return
    const text = JSON.stringify(server)
    const now = Date.now()
    if (text.length > MAX_SERVER_LENGTH || (text === this.#text && now - this.#seenAt < NOTE_INTERVAL_MS)) return
    this.#text = text
    this.#seenAt = now
    this.#memory.write(MEMORY_KEY, { server, seenAt: now })
  }
}

/** True if an answer reports that the connection's session is unknown. */
function isSessionLost(error: RpcError, { transport }: Connection): boolean {
  return transport.session !== undefined && isSessionError(error, transport.session)
}

function isServerDescription(value: unknown): value is ServerDescription {
  if (!isObject(value) || !isObject(value.info) || !isObject(value.capabilities)) return false
  const { era, version, info, instructions } = value
  const isOfEra = era === 'modern' ? isModern : era === 'legacy' ? isLegacy : () => false
  return (
    isOfEra(String(version)) &&
    typeof info.name === 'string' &&
    typeof info.version === 'string' &&
    (instructions === undefined || typeof instructions === 'string')
  )
}
