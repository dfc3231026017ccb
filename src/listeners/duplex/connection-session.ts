import { randomBytes } from 'node:crypto'
import type {
  Ask,
  AskReply,
  Choices,
  ClientSide,
  Era,
  Gate,
  Notification,
  Principal,
  RpcError,
  Session,
} from '../../api/index.ts'
import { envelopeProblem } from '../../protocol/era/modern.ts'
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
} from '../client/client-info.ts'

/** Different things that one client says of itself on one connection; beyond them the oldest is forgotten. */
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
  /** Asks a legacy client outside any request. */
  ask(ask: Ask): Promise<AskReply>
}

/**
 * The one conversation of a connection. A modern client says with each request who it is; where that changes, requests under
 * way keep what theirs said, and plugin state stays one.
 */
export class ConnectionSession {
  readonly #options: ConnectionSessionOptions
  readonly #id = randomBytes(16).toString('base64url')
  readonly #clients = new BoundedMap<string, ClientSide>({ max: MAX_CLIENTS })
  #root: Session | undefined
  #client: ClientSide | undefined

  constructor(options: ConnectionSessionOptions) {
    this.#options = options
  }

  /** The session as it is, where it is open. */
  get root(): Session | undefined {
    return this.#root
  }

  /** The session for a request, or undefined when it has to be opened first. */
  find(era: Era, client: ClientSide | undefined): Session | undefined {
    if (this.#root === undefined || this.#client === undefined) return undefined
    if (era === 'legacy')
      return this.#client.era === 'legacy' ? this.#updateLegacy(this.#root, this.#client, client) : undefined
    return this.#root
  }

  /** `initialize` after requests without it, or again: the same conversation knows better now. */
  #updateLegacy(root: Session, known: ClientSide, client: ClientSide | undefined): Session {
    if (client !== undefined) Object.assign(known, client)
    return root
  }

  /** A modern client as it was known before, where it says the same of itself again. */
  reuseClient(client: ClientSide): ClientSide {
    const key = JSON.stringify(client)
    const known = this.#clients.get(key)
    if (known !== undefined) return known
    this.#clients.set(key, client)
    return client
  }

  /** Opens the session; one of the other era, which did nothing but ask what we are, is closed. */
  async open(era: Era, client: ClientSide | undefined): Promise<Session> {
    this.close('the client chose another protocol era')
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

/** Decision on a request: it goes on as this client, is refused, or is a `ping` before all else. */
type EraDecision =
  | { readonly as: 'modern'; readonly client: ClientSide }
  | { readonly as: 'legacy'; readonly client: ClientSide | undefined }
  | { readonly refused: RpcError }
  | { readonly pong: true }

const WRONG_ERA = rpcError(
  RPC.invalidRequest,
  'Invalid request: this connection has begun with initialize and stays in that protocol era',
)
const TOO_NEW = rpcError(
  RPC.invalidRequest,
  `Invalid request: HTTP+SSE carries protocol versions up to ${LATEST_LEGACY_VERSION}; call initialize`,
)
const MISSING_META = rpcError(RPC.invalidParams, 'Invalid params: _meta is missing')

/** The era of a connection: its first message decides, and it stays (2026-07-28, versioning). */
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
    if (claimsModern(request.params))
      return this.#isLegacyOnly ? { refused: TOO_NEW } : this.#admitModern(request)
    return this.#era === 'modern' ? { refused: createMissingMetaError(request) } : this.#admitLegacy(request)
  }

  /** `server/discover` does not decide: a client may ask and then fall back to `initialize`. */
  #admitModern({ method, params }: RpcRequest): EraDecision {
    const problem = envelopeProblem(params) ?? checkVersion(params) ?? checkMethod(method, 'modern')
    if (problem !== undefined) return { refused: problem }
    if (method !== 'server/discover') {
      if (this.#era === 'legacy') return { refused: WRONG_ERA }
      this.#era = 'modern'
    }
    return { as: 'modern', client: parseModernClient(params) }
  }

  #admitLegacy({ method, params }: RpcRequest): EraDecision {
    if (this.#era === undefined && method === 'ping') return { pong: true }
    const problem =
      checkMethod(method, 'legacy') ?? (method === 'initialize' ? checkInitialize(params) : undefined)
    if (problem !== undefined) return { refused: problem }
    this.#era = 'legacy'
    return { as: 'legacy', client: method === 'initialize' ? parseLegacyClient(params) : undefined }
  }
}

function createMissingMetaError({ method, params }: RpcRequest): RpcError {
  if (method === 'initialize') return createVersionError(params?.protocolVersion)
  return envelopeProblem(params) ?? MISSING_META
}
