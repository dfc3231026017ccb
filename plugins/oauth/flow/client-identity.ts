import type {
  AuthorizationServer,
  Client,
  DynamicClientRegistrationRequestOptions,
  OmitSymbolProperties,
} from 'oauth4webapi'
import type { Config, HttpReply, JsonObject, PluginHooks } from '../../../src/plugin.ts'
import { isObject, getErrorMessage, STRANGER } from '../../../src/plugin.ts'
import { oauthError } from '../errors.ts'
import type { ClientIdentity, Vault } from '../types.ts'
import { isSameIssuer } from './discovery.ts'
import type { Wire } from './wire.ts'

/** Path of the gateway's own client metadata document, below its public URL. */
const DOCUMENT = '/oauth/client.json'
/** Path where a browser comes back to, below the same. */
const CALLBACK = '/oauth/callback'
/** Time for which an authorization server may keep it. */
const MAX_AGE_S = 3600

/** Whoever asks for it: it is for everybody. */

/** URL of the document, which is the gateway's client id; undefined where it has no public https URL. */
export function documentUrl({ listeners }: Config): string | undefined {
  for (const spec of Object.values(listeners)) {
    const base = spec.type === 'http' ? spec.publicUrl?.replace(/\/+$/, '') : undefined
    if (base?.startsWith('https://') === true) return base + DOCUMENT
  }
  return undefined
}

/** Serves the document at the gateway's public URL, to everybody. */
export function serveDocument({ authenticate, http }: PluginHooks, url: string, name: string): void {
  const redirect = url.slice(0, -DOCUMENT.length) + CALLBACK
  const body = JSON.stringify(createClientDocument(url, name, [redirect]))
  const headers = { 'content-type': 'application/json', 'cache-control': `public, max-age=${MAX_AGE_S}` }
  authenticate.tap({ stage: 'trace' }, ({ path }) => (path === DOCUMENT ? STRANGER : undefined))
  http
    .for(DOCUMENT)
    .tap(({ method }): HttpReply | undefined =>
      method === 'GET' ? { status: 200, headers, body } : undefined,
    )
}

/** The client of the configuration. */
interface ConfiguredClient {
  readonly id: string
  readonly secret?: string | undefined
  readonly method?: ClientIdentity['method'] | undefined
  readonly keyFile?: string | undefined
  readonly issuer?: string | undefined
}

/** Dependencies of the search for a client identity. */
interface ClientDeps {
  readonly upstream: string
  readonly client: ConfiguredClient | undefined
  /** URL of the gateway's own client metadata document, where it has a public one. */
  readonly document: string | undefined
  readonly vault: Pick<Vault, 'registration' | 'saveRegistration' | 'list'>
  readonly wire: Wire
  /** The name that people read on a page of consent. */
  readonly name: string
}

type AuthMethod = ClientIdentity['method']

/** Ways to authenticate in a registration, the one that is liked most first. */
const METHODS: readonly AuthMethod[] = ['none', 'client_secret_basic', 'client_secret_post']
/**
 * Stands where others have their redirect URI: a client that logs in by device code has none. It is the grant's own name, so
 * that registrations are kept by it.
 */
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
/** Names of this machine, as URLs have them. */
export const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/
/** A registration is made anew this long before its secret ends. */
const RENEW_MS = 60_000

/** The gateway's identity at an authorization server: configured, or a metadata document, or registered now. */
export async function resolveClient(
  host: ClientDeps,
  server: AuthorizationServer,
  redirectUri: string,
): Promise<ClientIdentity> {
  const { client } = host
  const takesDocuments = server.client_id_metadata_document_supported === true
  if (client !== undefined && !isDocumentUrl(client.id))
    return useConfiguredClient(host, client, server, redirectUri)
  const document = client?.id ?? selectDocument(host, redirectUri)
  if (document !== undefined && takesDocuments)
    return { id: document, method: client?.keyFile === undefined ? 'none' : 'private_key_jwt', redirectUri }
  if (server.registration_endpoint !== undefined) return findOrRegister(host, server, redirectUri)
  throw createClientError(
    host,
    server,
    redirectUri,
    'it takes neither registrations nor client metadata documents',
  )
}

/** True for an id that is the address of a client metadata document. */
function isDocumentUrl(id: string): boolean {
  const url = URL.parse(id)
  return url?.protocol === 'https:' && url.pathname !== '/'
}

/** Way in which a configured client authenticates. */
export function selectAuthMethod(
  { secret, method, keyFile }: ConfiguredClient,
  server: AuthorizationServer,
): AuthMethod {
  if (method !== undefined) return method
  if (keyFile !== undefined) return 'private_key_jwt'
  if (secret === undefined) return 'none'
  const known = server.token_endpoint_auth_methods_supported
  return known?.includes('client_secret_basic') === false && known.includes('client_secret_post')
    ? 'client_secret_post'
    : 'client_secret_basic'
}

/** An id that one authorization server gave says nothing at another, which might only want to see it. */
async function useConfiguredClient(
  host: ClientDeps,
  client: ConfiguredClient,
  server: AuthorizationServer,
  redirectUri: string,
): Promise<ClientIdentity> {
  const elsewhere =
    client.issuer ?? (await host.vault.list()).find(one => one.client.id === client.id)?.issuer
  if (elsewhere !== undefined && !isSameIssuer(elsewhere, server.issuer))
    throw createClientError(
      host,
      server,
      redirectUri,
      `the configured client "${client.id}" is one of ${elsewhere}`,
    )
  const { id, secret } = client
  return {
    id,
    method: selectAuthMethod(client, server),
    redirectUri,
    ...(secret === undefined ? {} : { secret }),
  }
}

/** Our own document names the redirects of our own origin alone. */
function selectDocument({ document }: ClientDeps, redirectUri: string): string | undefined {
  if (document === undefined || !isDocumentUrl(document)) return undefined
  return URL.parse(redirectUri)?.origin === new URL(document).origin ? document : undefined
}

async function findOrRegister(
  host: ClientDeps,
  server: AuthorizationServer,
  redirectUri: string,
): Promise<ClientIdentity> {
  const known = await host.vault.registration(server.issuer, redirectUri)
  if (known !== undefined && (known.expiresAt ?? Infinity) > Date.now() + RENEW_MS) return known
  const identity = await registerClient(host, server, redirectUri)
  await host.vault.saveRegistration(server.issuer, redirectUri, identity)
  return identity
}

async function registerClient(
  host: ClientDeps,
  server: AuthorizationServer,
  redirectUri: string,
): Promise<ClientIdentity> {
  const { wire, name } = host
  const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const method = METHODS.find(one => supported.includes(one))
  if (method === undefined)
    throw createClientError(
      host,
      server,
      redirectUri,
      `it wants clients to authenticate by ${supported.join(' or ')}`,
    )
  try {
    const { lib, options } = wire
    const metadata = createMetadata({ name, redirectUri, method })
    // Options of all requests are the same, but for the type of the body.
    const plain = options() as unknown as DynamicClientRegistrationRequestOptions
    const response = await lib.dynamicClientRegistrationRequest(server, metadata, plain)
    const client = await lib.processDynamicClientRegistrationResponse(await normalizeRegistration(response))
    return createIdentity(client, method, redirectUri)
  } catch (error) {
    const why = `it refuses to register the gateway (${wire.getErrorCode(error) ?? getErrorMessage(error)})`
    throw createClientError(host, server, redirectUri, why)
  }
}

interface RegistrationRequest {
  readonly name: string
  readonly redirectUri: string
  readonly method: AuthMethod
}

/** Names no scopes: a server that keeps a client to those that it was registered with would refuse every later step. */
function createMetadata({
  name,
  redirectUri,
  method,
}: RegistrationRequest): Partial<OmitSymbolProperties<Client>> {
  if (redirectUri === DEVICE_GRANT)
    return {
      client_name: name,
      redirect_uris: [],
      grant_types: [DEVICE_GRANT, 'refresh_token'],
      response_types: [],
      token_endpoint_auth_method: method,
      application_type: 'native',
    }
  return {
    client_name: name,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: method,
    application_type: LOOPBACK.test(new URL(redirectUri).hostname) ? 'native' : 'web',
  }
}

/** Many servers say nothing of the end of a secret that does not end, or answer 200 (RFC 7591 wants 0, and 201). */
async function normalizeRegistration(response: Response): Promise<Response> {
  if (!response.ok) return response
  const value: unknown = await response.json().catch(() => undefined)
  if (!isObject(value)) return Response.json(null, { status: 201 })
  return Response.json({ client_secret_expires_at: 0, ...value }, { status: 201 })
}

/** Identity as the server registered it: what the server made of the request counts, whatever was asked for. */
function createIdentity(
  client: OmitSymbolProperties<Client>,
  asked: AuthMethod,
  redirectUri: string,
): ClientIdentity {
  const said = client.token_endpoint_auth_method
  const method = METHODS.find(one => one === said) ?? asked
  const { client_secret: secret } = client
  const ends = typeof client.client_secret_expires_at === 'number' ? client.client_secret_expires_at : 0
  return {
    id: client.client_id,
    redirectUri,
    ...(method === 'none' || typeof secret !== 'string' ? { method: 'none' } : { method, secret }),
    ...(ends > 0 ? { expiresAt: ends * 1000 } : {}),
  }
}

/** The gateway's own client metadata document, as it is served at its public URL. */
export function createClientDocument(
  document: string,
  name: string,
  redirectUris: readonly string[],
): JsonObject {
  return {
    client_id: document,
    client_name: name,
    redirect_uris: redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
}

function createClientError(
  { upstream }: ClientDeps,
  { issuer }: AuthorizationServer,
  redirect: string,
  why: string,
): Error {
  const how = redirect === DEVICE_GRANT ? `for the grant ${redirect}` : `with ${redirect} as its redirect URI`
  return oauthError('GW_OAUTH_CLIENT', { upstream, issuer, how, why })
}
