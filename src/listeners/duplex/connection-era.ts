import type { ClientSide, Era, RpcError } from '../../api/index.ts'
import { envelopeProblem } from '../../protocol/era/modern.ts'
import type { RpcRequest } from '../../protocol/jsonrpc.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { LATEST_LEGACY_VERSION } from '../../protocol/versions.ts'
import {
  claimsModern,
  initializeProblem,
  legacyClient,
  methodProblem,
  modernClient,
  unsupportedVersion,
  versionProblem,
} from '../client/client-info.ts'

/** What a request may do: go on as this client, be answered at once, or nothing. */
export type Admission =
  | { readonly as: Era; readonly client: ClientSide | undefined }
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
const UNENVELOPED = rpcError(RPC.invalidParams, 'Invalid params: _meta is missing')

/** The era of a pipe: its first message decides, and it stays (2026-07-28, versioning). */
export class PipeEra {
  readonly #isLegacyOnly: boolean
  #era: Era | undefined

  constructor(isLegacyOnly = false) {
    this.#isLegacyOnly = isLegacyOnly
  }

  get current(): Era | undefined {
    return this.#era
  }

  admit(request: RpcRequest): Admission {
    if (claimsModern(request.params))
      return this.#isLegacyOnly ? { refused: TOO_NEW } : this.#admitModern(request)
    return this.#era === 'modern' ? { refused: withoutClaim(request) } : this.#admitLegacy(request)
  }

  /** `server/discover` does not decide: a client may ask and then fall back to `initialize`. */
  #admitModern({ method, params }: RpcRequest): Admission {
    const problem = envelopeProblem(params) ?? versionProblem(params) ?? methodProblem(method, 'modern')
    if (problem !== undefined) return { refused: problem }
    if (method !== 'server/discover') {
      if (this.#era === 'legacy') return { refused: WRONG_ERA }
      this.#era = 'modern'
    }
    return { as: 'modern', client: modernClient(params) }
  }

  #admitLegacy({ method, params }: RpcRequest): Admission {
    if (this.#era === undefined && method === 'ping') return { pong: true }
    const problem =
      methodProblem(method, 'legacy') ?? (method === 'initialize' ? initializeProblem(params) : undefined)
    if (problem !== undefined) return { refused: problem }
    this.#era = 'legacy'
    return { as: 'legacy', client: method === 'initialize' ? legacyClient(params) : undefined }
  }
}

function withoutClaim({ method, params }: RpcRequest): RpcError {
  if (method === 'initialize') return unsupportedVersion(params?.protocolVersion)
  return envelopeProblem(params) ?? UNENVELOPED
}
