import { randomBytes } from 'node:crypto'
import type {
  Ask,
  AskReply,
  Choices,
  ClientDescription,
  Era,
  Gate,
  Notification,
  Principal,
  RpcError,
  Session,
} from '../../api/index.ts'
import { findEnvelopeError } from '../../protocol/era/convert.ts'
import type { RpcRequest } from '../../protocol/jsonrpc.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { LATEST_LEGACY_VERSION } from '../../protocol/methods.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import {
  claimsModern,
  checkInitialize,
  parseLegacyClient,
  checkMethod,
  parseModernClient,
  createVersionError,
  checkVersion,
} from '../client/client-protocol.ts'

/** Distinct client infos cached per connection. */
const MAX_CLIENTS = 16

interface ConnectionSessionOptions {
  readonly gate: Gate
  readonly listener: string
  readonly principal: Principal
  readonly label?: string | undefined
  readonly profile?: string | undefined
  readonly directory?: string | undefined
  readonly choices?: Choices | undefined
  notify(notification: Notification): boolean
  /** Sends a request to a legacy client outside any client request. */
  ask(ask: Ask): Promise<AskReply>
}

/**
 * The session of a connection. Modern clients identify themselves in each request; running requests retain the info
 * they were sent with, and all share one plugin state.
 */
export class ConnectionSession {
  readonly #options: ConnectionSessionOptions
  readonly #id = randomBytes(16).toString('base64url')
  readonly #clients = new BoundedMap<string, ClientDescription>({ max: MAX_CLIENTS })
  #root: Session | undefined
  #client: ClientDescription | undefined

  constructor(options: ConnectionSessionOptions) {
    this.#options = options
  }

  /** The open session, if any. */
  get root(): Session | undefined {
    return this.#root
  }

  /** The session for a request; undefined if it must be opened first. */
  find(era: Era, client: ClientDescription | undefined): Session | undefined {
    if (this.#root === undefined || this.#client === undefined) return undefined
    if (era === 'modern') return this.#root
    if (this.#client.era !== 'legacy') return undefined
    // A late or repeated `initialize` updates the client info of the same session.
    Object.assign(this.#client, client)
    return this.#root
  }

  /** Returns the cached object for equal client info. */
  reuseClient(client: ClientDescription): ClientDescription {
    const key = JSON.stringify(client)
    const existing = this.#clients.get(key)
    if (existing !== undefined) return existing
    this.#clients.set(key, client)
    return client
  }

  /** Opens the session, and closes one of the other era, which only served a probe. */
  async open(era: Era, client: ClientDescription | undefined): Promise<Session> {
    this.close('protocol era changed')
    const { gate, listener, principal, label, profile, directory, choices, notify, ask } = this.#options
    this.#client = client ?? parseLegacyClient(undefined)
    this.#root = await gate.openSession({
      id: this.#id,
      listener,
      principal,
      client: this.#client,
      label,
      profile,
      directory,
      choices,
      notify,
      ask: era === 'legacy' ? ask : undefined,
    })
    return this.#root
  }

  close(reason: string): void {
    if (this.#root !== undefined) this.#options.gate.closeSession(this.#root, reason)
    this.#root = undefined
  }
}

type EraDecision =
  | { readonly as: 'modern'; readonly client: ClientDescription }
  | { readonly as: 'legacy'; readonly client: ClientDescription | undefined }
  | { readonly refused: RpcError }
  | { readonly pong: true }

const WRONG_ERA = rpcError(
  RPC.invalidRequest,
  'Invalid request: this connection began with initialize and must remain in that protocol era',
)
const TOO_NEW = rpcError(
  RPC.invalidRequest,
  `Invalid request: HTTP+SSE supports protocol versions up to ${LATEST_LEGACY_VERSION}; call initialize`,
)
const MISSING_META = rpcError(RPC.invalidParams, 'Invalid params: _meta is missing')

/** Connection protocol era, fixed by its first message (2026-07-28, versioning). */
export class ConnectionEra {
  readonly #isLegacyOnly: boolean
  #era: Era | undefined

  constructor(isLegacyOnly = false) {
    this.#isLegacyOnly = isLegacyOnly
  }

  get current(): Era | undefined {
    return this.#era
  }

  admit(request: RpcRequest): EraDecision {
    if (claimsModern(request.params)) return this.#isLegacyOnly ? { refused: TOO_NEW } : this.#admitModern(request)
    return this.#era === 'modern' ? { refused: createMissingMetaError(request) } : this.#admitLegacy(request)
  }

  /** `server/discover` does not fix the era: the client may fall back to `initialize`. */
  #admitModern({ method, params }: RpcRequest): EraDecision {
    const problem = findEnvelopeError(params) ?? checkVersion(params) ?? checkMethod(method, 'modern')
    if (problem !== undefined) return { refused: problem }
    if (method !== 'server/discover') {
      if (this.#era === 'legacy') return { refused: WRONG_ERA }
      this.#era = 'modern'
    }
    return { as: 'modern', client: parseModernClient(params) }
  }

  #admitLegacy({ method, params }: RpcRequest): EraDecision {
    if (this.#era === undefined && method === 'ping') return { pong: true }
    const problem = checkMethod(method, 'legacy') ?? (method === 'initialize' ? checkInitialize(params) : undefined)
    if (problem !== undefined) return { refused: problem }
    this.#era = 'legacy'
    return { as: 'legacy', client: method === 'initialize' ? parseLegacyClient(params) : undefined }
  }
}

function createMissingMetaError({ method, params }: RpcRequest): RpcError {
  if (method === 'initialize') return createVersionError(params?.protocolVersion)
  return findEnvelopeError(params) ?? MISSING_META
}
