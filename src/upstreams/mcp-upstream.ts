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
import { LOG_LEVELS } from '../protocol/era/convert.ts'
import { METHODS, MODERN_VERSION, isLegacy, isModern } from '../protocol/methods.ts'
import { Payload } from '../protocol/payload.ts'
import { settlesWithin } from '../util/clock.ts'
import { createCancelledAnswer } from './connection/translate-call.ts'
import { ReplacementCheck } from './connection/handshake.ts'
import { isSessionError } from './http/http-failures.ts'
import type { OpenTransport, PooledConnection } from './connection-pool.ts'
import { ConnectionPool } from './connection-pool.ts'
import { SUBSCRIBE, UNSUBSCRIBE } from './subscriptions.ts'
import { fingerprintTls } from './tls-files.ts'
import type { Connection } from './connection/connection.ts'
import { isObject } from '../protocol/json/json.ts'
import type { McpUpstreamConfig } from './transport.ts'
import type { RpcError } from '../protocol/rpc-error.ts'

const MEMORY_KEY = 'server'

/** Timeout for setting a session's log level before its call proceeds. */
const MAX_LEVEL_MS = 1000

/** Limit for a stored server description, in JSON characters. */
const MAX_SERVER_LENGTH = 256 * 1024

/** Minimum interval between log lines about rejected calls, so that a failing server does not flood the log. */
const LOG_INTERVAL_MS = 100

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
  readonly #pool: ConnectionPool
  readonly #levels = new LogLevels()
  readonly #replacement: ReplacementCheck
  readonly #storedServer: StoredServer
  #refusedAt = -Infinity
  readonly #tlsFiles: string

  constructor(spec: McpUpstreamConfig, context: UpstreamContext, connect: OpenTransport) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#tlsFiles = fingerprintTls(spec, context)
    this.#replacement = new ReplacementCheck(context)
    this.#pool = new ConnectionPool({
      spec,
      context,
      connect,
      mainChanged: main => this.#handleMainChange(main),
      opened: connection => void this.#levels.sendLevel(connection),
    })
    this.#storedServer = new StoredServer(this.memory)
    const { server, ageMs } = this.#storedServer
    if (server !== undefined) this.#pool.eraMemory.setEra(server.era, ageMs)
    // Before the first login, assume all features; the server's lists decide later.
    this.server = server ?? (this.#pool.isPerAccount ? createUnknownServer(this.name) : undefined)
  }

  get state(): UpstreamState {
    return this.#pool.state
  }

  get problem(): string | undefined {
    return this.#pool.main?.problem
  }

  get problemDetail(): string | undefined {
    return this.#pool.main?.problemDetail
  }

  get pid(): number | undefined {
    return this.#pool.main?.connection?.transport.pid
  }

  get dropped(): Readonly<Record<string, number>> | undefined {
    return this.#pool.drops.counts
  }

  get runtime(): UpstreamRuntime {
    return this.#pool.runtime
  }

  /** Accounts may see different servers, so nothing is stored then. */
  get memory(): UpstreamMemory | undefined {
    return this.#pool.isPerAccount ? undefined : this.#context.memory
  }

  get isRemembered(): boolean {
    return this.server !== undefined && !this.#storedServer.isConfirmed
  }

  get isOutdated(): boolean {
    return fingerprintTls(this.spec, this.#context) !== this.#tlsFiles
  }

  get degraded(): string | undefined {
    return this.#pool.drops.degraded
  }

  start(): Promise<void> {
    return this.#pool.start()
  }

  async stop(): Promise<void> {
    await this.#pool.stop()
    if (this.#pool.isPerAccount) this.#context.reportState('stopped')
  }

  onSessionEnd(session: Session): void {
    const { subscriptions } = this.#pool
    if (subscriptions.bySession.has(session.id)) subscriptions.forgetSession(session)
    const hadLevel = this.#levels.forgetSession(session.id)
    // A modern session may be one request, and the next would need the same level again.
    if (hadLevel && session.client.era === 'legacy')
      for (const connection of this.#pool.listConnections()) void this.#levels.sendLevel(connection)
    this.#pool.handleSessionEnd(session)
  }

  onRootsChange(changed: readonly Session[]): void {
    this.#pool.handleRootsChange(changed)
  }

  async dispatch(call: Call): Promise<Answer> {
    if (call.method === UNSUBSCRIBE) return this.#pool.subscriptions.unsubscribe(call)
    const connection = this.#pool.getReadyConnection(call) ?? (await this.#pool.waitForConnection(call))
    if (connection === undefined) return createCancelledAnswer()
    const { use } = connection
    use.acquire()
    try {
      const answer = await this.#callServer(call, connection)
      if ('error' in answer && isSessionLost(answer.error, connection))
        return await this.#renewSession(connection, call, answer)
      return 'error' in answer && this.#isEraDoubted(answer.error.code, call.method, connection)
        ? await this.#recoverFromAnswer(connection, call, answer)
        : answer
    } catch (error) {
      this.#logRefusal(error, call.method)
      return await this.#recoverFromError(connection, call, error)
    } finally {
      use.release()
    }
  }

  #handleMainChange({ supervisor, context: { log, account } }: PooledConnection): void {
    const upstream = this.name
    const { state, connection } = supervisor
    const problem = getOwnerProblem(supervisor)
    if (state === 'failed') log.warn('upstream not available', { upstream, problem })
    if (state === 'needs_auth') log.warn('upstream requires a login', { upstream, problem })
    if (connection?.server !== undefined) {
      const { era, version } = connection.server
      this.#setServer(connection.server)
      if (state === 'ready') log.info('upstream ready', { upstream, era, version, pid: connection.transport.pid })
    }
    // A failed account does not change the state that others see.
    if (account === undefined || state === 'ready') this.#context.reportState(state, problem)
  }

  /** Sends a call on its connection, after the session's log level is set. */
  #callServer(call: Call, connection: Connection): Promise<Answer> {
    const isModern = connection.server?.era === 'modern'
    if (call.method === SUBSCRIBE) return this.#pool.subscribe(call, connection)
    if (call.method === 'logging/setLevel')
      return isModern ? Promise.resolve({ result: Payload.of({}) }) : this.#levels.setLevel(call, connection)
    // A modern server gets the level with every request.
    const { session } = call.exchange
    const sent =
      isModern || session.client.logLevel === undefined ? undefined : this.#levels.applyLevel(session, connection)
    return sent === undefined ? connection.sendCall(call) : this.#sendAfterLevel(sent, call, connection)
  }

  async #sendAfterLevel(sent: Promise<unknown>, call: Call, connection: Connection): Promise<Answer> {
    await settlesWithin(this.#context.clock, MAX_LEVEL_MS, sent)
    return connection.sendCall(call)
  }

  #setServer(server: ServerDescription): void {
    if (server === this.server) return
    this.server = server
    this.#storedServer.saveServer(server)
  }

  /** A connection in the client's era does not affect the main one's: the server supports both. */
  #isEraDoubted(code: number, method: string, connection: Connection): boolean {
    return this.#isInMainEra(connection) && this.#replacement.isRejected(code, method, connection)
  }

  #isInMainEra({ server }: Connection): boolean {
    return server?.era === this.server?.era
  }

  /** Probes again, as the server may have been replaced; restarts if it changed. */
  async #recoverFromAnswer(connection: Connection, call: Call, answer: Answer): Promise<Answer> {
    if (!(await this.#replacement.hasOtherEra(connection))) return answer
    this.#pool.restart(OTHER_ERA)
    return REPEATABLE.has(call.method) ? this.#retryCall(call) : answer
  }

  async #renewSession(connection: Connection, call: Call, answer: Answer): Promise<Answer> {
    this.#pool.reconnect(connection, 'session expired')
    return REPEATABLE.has(call.method) ? this.#retryCall(call) : answer
  }

  async #recoverFromError(connection: Connection, call: Call, error: unknown): Promise<Answer> {
    if (!(error instanceof GatewayError)) throw error
    if (needsAuth(error)) {
      this.#pool.handleAuthRequired(connection, error)
      throw error
    }
    const { sessionLost, stale, status, unheard } = error.fields
    // A stale socket does not reflect the connection. The caller decides whether to retry.
    if (stale === true) throw error
    if (sessionLost === true) this.#pool.reconnect(connection, String(error.fields.why))
    else if (!(await this.#reconnectIfLost(connection, status))) throw error
    if (unheard !== true && !REPEATABLE.has(call.method)) throw error
    return this.#retryCall(call)
  }

  /** Restarts if a status means a lost session, or a server in another era. */
  async #reconnectIfLost(connection: Connection, status: unknown): Promise<boolean> {
    if (typeof status !== 'number') return false
    if (await this.#replacement.isSessionRejected(connection)) {
      this.#pool.reconnect(connection, `session rejected (HTTP ${status})`)
      return true
    }
    const isDoubtful = this.#isInMainEra(connection) && this.#replacement.isRaisedByStatus(status, connection)
    if (!isDoubtful || !(await this.#replacement.hasOtherEra(connection))) return false
    this.#pool.restart(OTHER_ERA)
    return true
  }

  /** Logs a server error for the owner only, as the text may quote credentials, and stores it for `ps` and `inspect`. */
  #logRefusal(error: unknown, method: string): void {
    if (!(error instanceof GatewayError) || error.detail === undefined) return
    const { log, clock, hide } = this.#context
    const why = hide(describeReason({ why: String(error.fields.why ?? error.message), detail: error.detail }))
    this.#pool.recordProblem(why)
    if (clock.now() - this.#refusedAt < LOG_INTERVAL_MS) return
    this.#refusedAt = clock.now()
    log.warn('call rejected by the server', { method, code: error.code, why })
  }

  async #retryCall(call: Call): Promise<Answer> {
    const connection = await this.#pool.waitForConnection(call)
    if (connection === undefined) return createCancelledAnswer()
    connection.use.acquire()
    try {
      return await this.#callServer(call, connection)
    } finally {
      connection.use.release()
    }
  }
}

/** A legacy server's log level: the most verbose that any session requested; others are filtered. */
class LogLevels {
  readonly #levels = new Map<string, number>()
  /** Session count per level. */
  readonly #counts = LOG_LEVELS.map(() => 0)
  readonly #sent = new WeakMap<Connection, number>()

  /** Handles `logging/setLevel` for one session. */
  async setLevel(call: Call, connection: Connection): Promise<Answer> {
    this.#setSessionLevel(call.exchange.session.id, call.params?.level)
    const loudest = this.#findLowestLevel()
    if (loudest === this.#sent.get(connection)) return { result: Payload.of({}) }
    call.params = { ...call.params, level: LOG_LEVELS[loudest] ?? call.params?.level }
    const answer = await connection.sendCall(call)
    if ('result' in answer) this.#sent.set(connection, loudest)
    return answer
  }

  /** Applies a session's level; returns undefined if the server already has it. */
  applyLevel({ id, client }: Session, connection: Connection): Promise<unknown> | undefined {
    this.#setSessionLevel(id, client.logLevel)
    return this.sendLevel(connection)
  }

  /** Sends the level unless the server has it. */
  sendLevel(connection: Connection): Promise<unknown> | undefined {
    const loudest = this.#findLowestLevel()
    const { era, capabilities } = connection.server ?? {}
    if (loudest < 0 || loudest === this.#sent.get(connection)) return undefined
    if (era !== 'legacy' || capabilities?.logging === undefined) return undefined
    this.#sent.set(connection, loudest)
    return connection.sendRequest('logging/setLevel', { level: LOG_LEVELS[loudest] }).catch(() => undefined)
  }

  /** Removes a closed session; returns true if it had requested a level. */
  forgetSession(session: string): boolean {
    const level = this.#levels.get(session)
    if (level === undefined) return false
    this.#levels.delete(session)
    this.#countLevel(level, -1)
    return true
  }

  #setSessionLevel(session: string, requested: unknown): void {
    const level = LOG_LEVELS.indexOf(requested as string)
    if (level < 0 || this.#levels.get(session) === level) return
    this.forgetSession(session)
    this.#levels.set(session, level)
    this.#countLevel(level, 1)
  }

  #countLevel(level: number, change: number): void {
    this.#counts[level] = (this.#counts[level] ?? 0) + change
  }

  #findLowestLevel(): number {
    return this.#counts.findIndex(count => count > 0)
  }
}

/** A server description from an earlier run, so that clients can initialize before the server runs. */
class StoredServer {
  readonly server: ServerDescription | undefined
  readonly ageMs: number
  /** True after contact in this run. */
  isConfirmed = false
  readonly #memory: UpstreamMemory | undefined

  constructor(memory: UpstreamMemory | undefined) {
    this.#memory = memory
    const saved = memory?.read(MEMORY_KEY)
    const { server, seenAt } = isObject(saved) ? saved : {}
    const age = Date.now() - Number(seenAt)
    // The clock may have been set back: treat future times as now.
    this.ageMs = age > 0 ? age : 0
    this.server = isServerDescription(server) ? server : undefined
  }

  saveServer(server: ServerDescription): void {
    this.isConfirmed = true
    if (JSON.stringify(server).length <= MAX_SERVER_LENGTH)
      this.#memory?.write(MEMORY_KEY, { server, seenAt: Date.now() })
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

function createUnknownServer(name: string): ServerDescription {
  return {
    era: 'modern',
    version: MODERN_VERSION,
    info: { name, version: '0' },
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
    instructions: undefined,
  }
}
