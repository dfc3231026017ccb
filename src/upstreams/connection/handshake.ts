import type { Clock, ServerDescription, UpstreamContext } from '../../api/index.ts'
import { GatewayError, gatewayError } from '../../errors/errors.ts'
import { toModernParams } from '../../protocol/era/convert.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { RpcResponse } from '../../protocol/jsonrpc.ts'
import type { Era } from '../../protocol/methods.ts'
import {
  LATEST_LEGACY_VERSION,
  LEGACY_VERSIONS,
  META,
  METHODS,
  MODERN_VERSION,
  isLegacy,
  isModern,
} from '../../protocol/methods.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { settlesWithin } from '../../util/clock.ts'
import { formatPeerText } from '../../util/log.ts'
import type { Connection } from './connection.ts'

/** Minimum interval between probes. */
const PROBE_INTERVAL_MS = 60_000
/** Minimum interval between pings for the session. */
const PING_INTERVAL_MS = 1000

/** Error codes that only a server in the other era returns. */
const FOREIGN_TO_LEGACY: ReadonlySet<number> = new Set([
  RPC.headerMismatch,
  RPC.missingCapability,
  RPC.unsupportedVersion,
])

const FOREIGN_TO_MODERN: ReadonlySet<number> = new Set([RPC.unsupportedVersion, RPC.legacyBadRequest])

/** Lifetime of a "legacy" verdict, which is never re-checked otherwise. */
const LEGACY_TTL_MS = 24 * 60 * 60 * 1000

interface HandshakeDeps {
  readonly upstream: string
  readonly era: 'auto' | Era
  readonly memory: EraMemory
  readonly gateway: { readonly name: string; readonly version: string }
  /** Client capabilities for `initialize`. */
  readonly capabilities: JsonObject
  readonly clock: Clock
  /** Milliseconds that a server on a pipe has for `server/discover`; then it counts as legacy. */
  readonly probeMs: number
  /** Opens a connection; throws if the attempt is cancelled. */
  open(): Connection
}

/** Opens a connection and detects the server's era. */
export async function performHandshake(options: HandshakeDeps): Promise<Connection> {
  const remembered = options.era === 'auto' ? options.memory.getEra() : options.era
  if (remembered !== 'legacy') return probeServer(options, options.open())
  const connection = options.open()
  try {
    return await sendInitialize(connection, options)
  } catch (error) {
    if (options.era !== 'auto' || !isInitializeRefusal(error)) throw error
    options.memory.forgetEra()
    // A process that refused still runs; reuse it, so that none is leaked.
    return probeServer(options, connection.closedBecause === undefined ? connection : options.open())
  }
}

async function probeServer(options: HandshakeDeps, connection: Connection): Promise<Connection> {
  let failure: unknown
  const discovery = sendDiscover(connection, options).catch((error: unknown) => {
    if (options.era !== 'auto' || !mayBeLegacy(error)) throw error
    failure = error
    return undefined
  })
  const first = await waitForProbe(discovery, options)
  if (first !== 'late' && first !== undefined) return completeHandshake(connection, first, options)
  if (options.era === 'modern') return rejectVersion(options, first === 'late' ? await discovery : first, connection)
  const isDoubtful = first === 'late' || failure !== undefined
  return fallBackToLegacy(
    { connection, discovery, failure, isDoubtful: isDoubtful && connection.transport.streams },
    options,
  )
}

interface ProbeResult {
  readonly connection: Connection
  readonly discovery: Promise<ServerDescription | undefined>
  /** Probe failure, if the server may be legacy. */
  readonly failure: unknown
  readonly isDoubtful: boolean
}

/** Sends `initialize` on a connection whose probe found no modern server. */
async function fallBackToLegacy(probed: ProbeResult, options: HandshakeDeps): Promise<Connection> {
  const { connection, discovery, isDoubtful } = probed
  // Some servers exit on any request except `initialize`: reopen and send that.
  const survivor = connection.closedBecause === undefined ? connection : options.open()
  try {
    return await sendInitialize(survivor, options, isDoubtful)
  } catch (error) {
    // A slow modern HTTP server may still answer; a process probe timed out.
    const lateServer =
      isInitializeRefusal(error) && survivor === connection
        ? await (connection.transport.streams ? discovery : Promise.race([discovery, Promise.resolve(undefined)]))
        : undefined
    if (lateServer === undefined) throw isInitializeRefusal(error) ? (probed.failure ?? error) : error
    return completeHandshake(connection, lateServer, options)
  }
}

function rejectVersion(
  options: HandshakeDeps,
  server: ServerDescription | undefined,
  connection: Connection,
): Connection {
  if (server !== undefined) return completeHandshake(connection, server, options)
  const why = `it does not support protocol version ${MODERN_VERSION}, which "era: modern" requires`
  throw gatewayError('GW_UPSTREAM_START', {
    upstream: options.upstream,
    ...(connection.closedBecause ?? { why }),
  })
}

function completeHandshake(connection: Connection, server: ServerDescription, { memory }: HandshakeDeps): Connection {
  memory.setEra(server.era)
  connection.opened(server)
  connection.transport.listen()
  return connection
}

/** Returns the probe outcome, or 'late' if the server did not answer in time. */
async function waitForProbe<T>(discovery: Promise<T>, { clock, probeMs, era }: HandshakeDeps): Promise<T | 'late'> {
  return era !== 'auto' || (await settlesWithin(clock, probeMs, discovery)) ? discovery : 'late'
}

/** True if the probe was answered by a non-modern server, or not at all: try `initialize`. */
function mayBeLegacy(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false
  return error.fields.status !== undefined || error.code === 'GW_UPSTREAM_CLOSED'
}

/** Sends `server/discover`; returns undefined for a non-modern server. Rejects if the era stays unknown. */
async function sendDiscover(
  connection: Connection,
  options: Pick<HandshakeDeps, 'upstream' | 'gateway'>,
): Promise<ServerDescription | undefined> {
  const client = { info: { ...options.gateway }, capabilities: {}, logLevel: undefined }
  try {
    const params = toModernParams(undefined, client, MODERN_VERSION, undefined)
    return createModernServer(await connection.sendRequest('server/discover', params, true))
  } catch (error) {
    // On a pipe, treat every failure as legacy; over HTTP, only a clear refusal.
    if (error instanceof GatewayError && (error.code === 'GW_UPSTREAM_PROTOCOL' || !connection.transport.streams))
      return undefined
    throw error
  }
}

function createModernServer({ result }: RpcResponse): ServerDescription | undefined {
  const description = result?.value()
  const versions: unknown[] = Array.isArray(description?.supportedVersions) ? description.supportedVersions : []
  const version = versions.find(offered => typeof offered === 'string' && isModern(offered))
  if (description === undefined || version === undefined) return undefined
  const meta = isObject(description._meta) ? description._meta : {}
  return createDescription('modern', version as string, meta[META.serverInfo] ?? description.serverInfo, description)
}

/** Sends `initialize`; `isDoubtful` if the probe failed temporarily, so that the next connection probes again. */
async function sendInitialize(connection: Connection, options: HandshakeDeps, isDoubtful = false): Promise<Connection> {
  const params = {
    protocolVersion: LATEST_LEGACY_VERSION,
    capabilities: options.capabilities,
    clientInfo: { ...options.gateway },
  }
  const { result, error } = await connection.sendRequest('initialize', params)
  if (result === undefined)
    throw createHandshakeError(options, `initialize failed: ${formatPeerText(error?.message ?? '', 300)}`, error?.code)
  const answer = result.value()
  const version = String(answer.protocolVersion)
  if (!isLegacy(version)) {
    throw createHandshakeError(
      options,
      `unsupported protocol version ${formatPeerText(version, 40)}; supported: ${MODERN_VERSION}, ${LEGACY_VERSIONS.join(', ')}`,
      RPC.unsupportedVersion,
    )
  }
  connection.opened(createDescription('legacy', version, answer.serverInfo, answer))
  await connection.notify('notifications/initialized')
  connection.transport.listen()
  if (options.era === 'auto' && !isDoubtful) options.memory.setEra('legacy')
  return connection
}

function createDescription(era: Era, version: string, info: unknown, description: JsonObject): ServerDescription {
  const serverInfo = isObject(info) ? info : {}
  return {
    era,
    version,
    info: { ...serverInfo, name: String(serverInfo.name ?? 'unknown'), version: String(serverInfo.version ?? '0') },
    capabilities: isObject(description.capabilities) ? description.capabilities : {},
    instructions: typeof description.instructions === 'string' ? description.instructions : undefined,
  }
}

function createHandshakeError({ upstream }: HandshakeDeps, why: string, refusal: number | undefined): GatewayError {
  return gatewayError('GW_UPSTREAM_START', { upstream, why, refusal })
}

/** True if the server refused `initialize`, false if it did not answer. */
export function isInitializeRefusal(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false
  return (
    error.fields.refusal !== undefined || (error.code === 'GW_UPSTREAM_PROTOCOL' && error.fields.status !== undefined)
  )
}

/** Caches a server's era, so that it is not probed at every start. */
export class EraMemory {
  readonly #clock: Clock
  #era: Era | undefined
  #until = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  getEra(): Era | undefined {
    if (this.#clock.now() >= this.#until) this.#era = undefined
    return this.#era
  }

  /** Stores a verdict with its age in milliseconds. */
  setEra(era: Era, ageMs = 0): void {
    this.#era = era
    this.#until = era === 'modern' ? Infinity : this.#clock.now() + LEGACY_TTL_MS - ageMs
  }

  forgetEra(): void {
    this.#era = undefined
  }
}

/** Detects that a server was replaced: it answers in the other era, or rejects its session with an ambiguous status. */
export class ReplacementCheck {
  readonly #upstream: string
  readonly #gateway: UpstreamContext['gateway']
  readonly #clock: Clock
  #askedAt = -Infinity
  #rejecting: Connection | undefined
  #rejectedAt = 0

  constructor({ name, gateway, clock }: UpstreamContext) {
    this.#upstream = name
    this.#gateway = gateway
    this.#clock = clock
  }

  isRejected(code: number, method: string, connection: Connection): boolean {
    if (connection.server?.era === 'legacy') return FOREIGN_TO_LEGACY.has(code)
    if (code !== RPC.methodNotFound) return FOREIGN_TO_MODERN.has(code)
    const capability = METHODS.get(method)?.capability
    return capability !== undefined && connection.server?.capabilities[capability] !== undefined
  }

  /** A modern server returns JSON errors; a status without JSON raises doubt. */
  isRaisedByStatus(status: number, connection: Connection): boolean {
    return connection.server?.era === 'modern' && status >= 400 && status < 500
  }

  /**
   * Records a rejection; true if it follows the first one on this connection after a pause, and the server rejects a
   * ping as well. Earlier ones concern the call, or are temporary.
   */
  async isSessionRejected(connection: Connection): Promise<boolean> {
    const now = this.#clock.now()
    const isFirst = connection !== this.#rejecting
    const isEarly = !isFirst && now - this.#rejectedAt < PING_INTERVAL_MS
    if (connection.transport.session === undefined || isEarly) return false
    this.#rejecting = connection
    this.#rejectedAt = now
    if (isFirst) return false
    return connection.sendRequest('ping', undefined).then(
      () => false,
      (error: unknown) => error instanceof GatewayError && typeof error.fields.status === 'number',
    )
  }

  /** Probes the server for its era. An unclear answer changes nothing. */
  async hasOtherEra(connection: Connection): Promise<boolean> {
    if (this.#clock.now() - this.#askedAt < PROBE_INTERVAL_MS) return false
    this.#askedAt = this.#clock.now()
    const discovered = await sendDiscover(connection, { upstream: this.#upstream, gateway: this.#gateway }).catch(
      () => null,
    )
    return discovered !== null && (discovered?.era ?? 'legacy') !== connection.server?.era
  }
}
