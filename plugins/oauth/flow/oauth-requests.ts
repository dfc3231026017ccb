import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import type { importPKCS8 } from 'jose'
import type * as Lib from 'oauth4webapi'
import type { JsonObject } from '../../../src/plugin.ts'
import { GatewayError, isObject, getErrorMessage } from '../../../src/plugin.ts'
import type { ClientIdentity, NewGrant } from '../types.ts'
import type { FetchFrom } from './discovery.ts'
import { dropNullMembers } from './discovery.ts'

/** Scope for refresh tokens (OpenID Connect). */
const OFFLINE = 'offline_access'

/** Scope sources in order. */
interface ScopeSources {
  /** Scopes from the challenge. */
  readonly challenged: readonly string[] | undefined
  readonly ofResource: readonly string[] | undefined
  /** Configured scopes, as an upper bound. */
  readonly bound: readonly string[] | undefined
  /** Previous login's scopes, which are retained. */
  readonly before: readonly string[]
  readonly ofServer: readonly string[] | undefined
}

/** Selects the scopes to request; empty to use the server's default. */
export function selectScopes({ challenged, ofResource, bound, before, ofServer }: ScopeSources): readonly string[] {
  const named = challenged ?? ofResource
  const requested = named === undefined ? (bound ?? []) : limitScopes(named, bound)
  const scopes = mergeScopes(before, requested.length === 0 && bound !== undefined ? bound : requested)
  return ofServer?.includes(OFFLINE) === true ? mergeScopes(scopes, [OFFLINE]) : scopes
}

/** Limits scopes to the configured ones. */
export function limitScopes(scopes: readonly string[], bound: readonly string[] | undefined): readonly string[] {
  return bound === undefined ? scopes : scopes.filter(scope => bound.includes(scope))
}

export function mergeScopes(one: readonly string[], other: readonly string[]): readonly string[] {
  return [...new Set([...one, ...other])]
}

/** Bearer challenge parameters (RFC 6750, RFC 9728). */
export interface Challenge {
  /** Protected resource metadata URL. */
  readonly metadata: string | undefined
  readonly scopes: readonly string[] | undefined
  readonly error: string | undefined
}

const NOTHING: Challenge = { metadata: undefined, scopes: undefined, error: undefined }
const SCHEME = /(?:^|,)\s*bearer(?:\s+|$)/i
/** Maximum scopes read from a challenge. */
const MAX_SCOPES = 100

/** Parses the Bearer challenge of `WWW-Authenticate`, ignoring other schemes. */
export function parseChallenge(header = ''): Challenge {
  const scheme = SCHEME.exec(header)
  if (scheme === null) return NOTHING
  const parameters = header.slice(scheme.index + scheme[0].length)
  return {
    metadata: findParameter(parameters, 'resource_metadata'),
    scopes: parseScopes(findParameter(parameters, 'scope')),
    error: findParameter(parameters, 'error'),
  }
}

/** Returns the first parameter with a name. */
function findParameter(parameters: string, name: string): string | undefined {
  const pattern = new RegExp(`(?:^|[\\s,])${name}\\s*=\\s*(?:"([^"]*)"|([^\\s,"]+))`, 'i')
  const [, quoted, token] = pattern.exec(parameters) ?? []
  return quoted ?? token
}

/** Splits a scope list; undefined if it is empty. */
function parseScopes(text: string | undefined): readonly string[] | undefined {
  const scopes = [...new Set(text?.split(' ').filter(scope => SCOPE.test(scope)))].slice(0, MAX_SCOPES)
  return scopes.length === 0 ? undefined : scopes
}

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

type Library = typeof Lib

export interface KeySpec {
  readonly file: string
  readonly id?: string | undefined
  readonly algorithm: string
}

/** The OAuth library with one upstream's guarded fetch. */
export class Wire {
  readonly lib: Library
  readonly #fetchFrom: FetchFrom
  readonly #directory: string

  constructor(lib: Library, fetchFrom: FetchFrom, directory: string) {
    this.lib = lib
    this.#fetchFrom = fetchFrom
    this.#directory = directory
  }

  /** Creates request options. The guard decides which URLs and schemes are allowed. */
  readonly options = (more?: Readonly<Record<string, string>>): Lib.TokenEndpointRequestOptions => {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- a server on loopback has its authorization server there
    const { customFetch, allowInsecureRequests } = this.lib
    return {
      [allowInsecureRequests]: true,
      [customFetch]: async (url: string, init: Lib.CustomFetchOptions<string, unknown>) => {
        const { method, headers, body } = init
        const text = body as string | URLSearchParams | undefined
        const options = { method, headers, body: text }
        return stripNulls(await this.#fetchFrom(url, options))
      },
      ...(more === undefined ? {} : { additionalParameters: more }),
    }
  }

  /** Posts JSON; returns the object in the response, or an `error`. */
  async postJson(url: string, value: JsonObject): Promise<JsonObject> {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const response = await this.#fetchFrom(url, { method: 'POST', headers, body: JSON.stringify(value) })
    const reply: unknown = await response.json().catch(() => undefined)
    const members: JsonObject = isObject(reply) ? reply : {}
    return response.ok ? members : { error: members.error ?? `http_${response.status}` }
  }

  /** Selects the client authentication at the token endpoint. */
  async createClientAuth({ secret, method }: ClientIdentity, key?: KeySpec): Promise<Lib.ClientAuth> {
    const { lib } = this
    if (method === 'private_key_jwt' && key !== undefined) {
      const kid = key.id === undefined ? {} : { kid: key.id }
      return lib.PrivateKeyJwt({ key: await this.#readPrivateKey(key), ...kid })
    }
    if (secret === undefined || method === 'none') return lib.None()
    return method === 'client_secret_post' ? lib.ClientSecretPost(secret) : createBasicAuth(secret)
  }

  /**
   * Returns an OAuth error's code; undefined for other failures. Descriptions are omitted, as servers may quote
   * secrets.
   */
  getErrorCode(error: unknown): string | undefined {
    if (error instanceof this.lib.ResponseBodyError) return sanitizeErrorCode(error.error)
    if (error instanceof this.lib.AuthorizationResponseError) return sanitizeErrorCode(error.error)
    return undefined
  }

  async #readPrivateKey({ file, algorithm }: KeySpec): ReturnType<typeof importPKCS8> {
    const { importPKCS8: read } = await import('jose')
    const path = isAbsolute(file) ? file : join(this.#directory, file)
    return read(await readFile(path, 'utf8'), algorithm)
  }
}

/** Removes null members, which many servers send for missing values. */
async function stripNulls(response: Response): Promise<Response> {
  if (response.body === null) return response
  const text = await response.text()
  const { status, statusText, headers } = response
  return new Response(stripJsonNulls(text), { status, statusText, headers })
}

function stripJsonNulls(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? JSON.stringify(dropNullMembers(value)) : text
  } catch {
    return text
  }
}

/** Converts a token response to a grant. */
export function createGrant(
  tokens: Lib.TokenEndpointResponse,
  { client, scopes }: { client: ClientIdentity; scopes: readonly string[] },
): NewGrant {
  const { access_token: access, token_type: type, refresh_token: refresh, expires_in: seconds } = tokens
  if (type !== 'bearer') throw new Error(`unsupported token type "${type}"`)
  return {
    access,
    scopesRequested: scopes,
    scopesGranted: parseScopes(tokens.scope) ?? scopes,
    client,
    ...(refresh === undefined ? {} : { refresh }),
    ...(seconds === undefined ? {} : { expiresAt: Date.now() + seconds * 1000 }),
  }
}

/** Formats the reason of a failed request without secrets. */
export function formatFailure(wire: Wire, error: unknown): string {
  const { cause } = error as { cause?: unknown }
  const errorCode = wire.getErrorCode(error)
  if (errorCode !== undefined) return errorCode
  if (error instanceof GatewayError) return error.message
  return getErrorMessage(cause instanceof GatewayError ? cause : error)
}

/**
 * Encodes id and secret as a form (RFC 6749, section 2.3.1), but no more, as many servers do not decode other
 * characters.
 */
function createBasicAuth(secret: string): Lib.ClientAuth {
  return (_server, { client_id: id }, _body, headers) => {
    const pair = Buffer.from(`${encodeFormValue(id)}:${encodeFormValue(secret)}`).toString('base64')
    headers.set('authorization', `Basic ${pair}`)
  }
}

function encodeFormValue(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

export function sanitizeErrorCode(error: string): string {
  return /^[\w.-]{1,100}$/.test(error) ? error : 'invalid error code'
}
