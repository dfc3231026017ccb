import type {
  AuthorizationServer,
  Client,
  DynamicClientRegistrationRequestOptions,
  OmitSymbolProperties,
} from 'oauth4webapi'
import type { Config, HttpReply, JsonObject, PluginHooks } from '../../../src/plugin.ts'
import { isObject, getErrorMessage, STRANGER } from '../../../src/plugin.ts'
import { oauthError } from '../errors.ts'
import type { ClientIdentity } from '../types.ts'
import type { Vault } from '../vault/vault.ts'
import { isSameIssuer } from './discovery.ts'
import type { Wire } from './oauth-requests.ts'

/** Client metadata document path below the public URL. */
const DOCUMENT = '/oauth/client.json'
/** Redirect path below the public URL. */
const CALLBACK = '/oauth/callback'
/** Document cache lifetime in seconds. */
const MAX_AGE_S = 3600

/** Returns the document's URL, which is the client id; undefined without a public https URL. */
export function documentUrl({ listeners }: Config): string | undefined {
  for (const spec of Object.values(listeners)) {
    const base = spec.type === 'http' ? spec.publicUrl?.replace(/\/+$/, '') : undefined
    if (base?.startsWith('https://') === true) return base + DOCUMENT
  }
  return undefined
}

/** Serves the document without authentication. */
export function serveDocument({ authenticate, http }: PluginHooks, url: string, name: string): void {
  const redirect = url.slice(0, -DOCUMENT.length) + CALLBACK
  const body = JSON.stringify(createClientDocument(url, name, [redirect]))
  const headers = { 'content-type': 'application/json', 'cache-control': `public, max-age=${MAX_AGE_S}` }
  authenticate.tap({ stage: 'trace' }, ({ path }) => (path === DOCUMENT ? STRANGER : undefined))
  http
    .for(DOCUMENT)
    .tap(({ method }): HttpReply | undefined => (method === 'GET' ? { status: 200, headers, body } : undefined))
}

interface ConfiguredClient {
  readonly id: string
  readonly secret?: string | undefined
  readonly method?: ClientIdentity['method'] | undefined
  readonly keyFile?: string | undefined
  readonly issuer?: string | undefined
}

interface ClientDeps {
  readonly upstream: string
  readonly client: ConfiguredClient | undefined
  /** Client metadata document URL, if there is a public one. */
  readonly document: string | undefined
  readonly vault: Pick<Vault, 'findRegistration' | 'saveRegistration' | 'list'>
  readonly wire: Wire
  /** Name shown on consent pages. */
  readonly name: string
}

type AuthMethod = ClientIdentity['method']

/** Authentication methods for registration, preferred first. */
const METHODS: readonly AuthMethod[] = ['none', 'client_secret_basic', 'client_secret_post']
export const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/
/** Registrations are renewed this long before their secret expires. */
const RENEW_MS = 60_000

/** Resolves the client identity: configured, metadata document, or dynamic registration. */
export async function resolveClient(
  host: ClientDeps,
  server: AuthorizationServer,
  redirectUri: string,
): Promise<ClientIdentity> {
  const { client } = host
  const takesDocuments = server.client_id_metadata_document_supported === true
  if (client !== undefined && !isDocumentUrl(client.id)) return useConfiguredClient(host, client, server, redirectUri)
  const document = client?.id ?? selectDocument(host, redirectUri)
  if (document !== undefined && takesDocuments)
    return { id: document, method: client?.keyFile === undefined ? 'none' : 'private_key_jwt', redirectUri }
  if (server.registration_endpoint !== undefined) return findOrRegister(host, server, redirectUri)
  throw createClientError(
    host,
    server,
    redirectUri,
    'it supports neither client registration nor client metadata documents',
  )
}

/** Returns true if an id is a client metadata document URL. */
function isDocumentUrl(id: string): boolean {
  const url = URL.parse(id)
  return url?.protocol === 'https:' && url.pathname !== '/'
}

/** Selects how a configured client authenticates. */
export function selectAuthMethod(
  { secret, method, keyFile }: ConfiguredClient,
  server: AuthorizationServer,
): AuthMethod {
  if (method !== undefined) return method
  if (keyFile !== undefined) return 'private_key_jwt'
  if (secret === undefined) return 'none'
  const methods = server.token_endpoint_auth_methods_supported
  return methods?.includes('client_secret_basic') === false && methods.includes('client_secret_post')
    ? 'client_secret_post'
    : 'client_secret_basic'
}

/** One issuer's client id must not be sent to another. */
async function useConfiguredClient(
  host: ClientDeps,
  client: ConfiguredClient,
  server: AuthorizationServer,
  redirectUri: string,
): Promise<ClientIdentity> {
  const issuer = client.issuer ?? (await host.vault.list()).find(one => one.client.id === client.id)?.issuer
  if (issuer !== undefined && !isSameIssuer(issuer, server.issuer))
    throw createClientError(host, server, redirectUri, `the configured client "${client.id}" belongs to ${issuer}`)
  const { id, secret } = client
  return {
    id,
    method: selectAuthMethod(client, server),
    redirectUri,
    ...(secret === undefined ? {} : { secret }),
  }
}

/** The document lists redirects of its own origin only. */
function selectDocument({ document }: ClientDeps, redirectUri: string): string | undefined {
  if (document === undefined || !isDocumentUrl(document)) return undefined
  return URL.parse(redirectUri)?.origin === new URL(document).origin ? document : undefined
}

async function findOrRegister(
  host: ClientDeps,
  server: AuthorizationServer,
  redirectUri: string,
): Promise<ClientIdentity> {
  const registered = await host.vault.findRegistration(server.issuer, redirectUri)
  if (registered !== undefined && (registered.expiresAt ?? Infinity) > Date.now() + RENEW_MS) return registered
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
      `it requires clients to authenticate with ${supported.join(' or ')}`,
    )
  try {
    const { lib, options } = wire
    const metadata = createMetadata({ name, redirectUri, method })
    // Request options differ only in the body type.
    const plain = options() as unknown as DynamicClientRegistrationRequestOptions
    const response = await lib.dynamicClientRegistrationRequest(server, metadata, plain)
    const client = await lib.processDynamicClientRegistrationResponse(await normalizeRegistration(response))
    return createIdentity(client, method, redirectUri)
  } catch (error) {
    const reason = `registration was refused (${wire.getErrorCode(error) ?? getErrorMessage(error)})`
    throw createClientError(host, server, redirectUri, reason)
  }
}

interface RegistrationRequest {
  readonly name: string
  readonly redirectUri: string
  readonly method: AuthMethod
}

/** Requests no scopes: some servers would limit the client to them. */
function createMetadata({ name, redirectUri, method }: RegistrationRequest): Partial<OmitSymbolProperties<Client>> {
  return {
    client_name: name,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: method,
    application_type: LOOPBACK.test(new URL(redirectUri).hostname) ? 'native' : 'web',
  }
}

/** Fixes responses without `client_secret_expires_at` or with status 200 (RFC 7591 requires both). */
async function normalizeRegistration(response: Response): Promise<Response> {
  if (!response.ok) return response
  const value: unknown = await response.json().catch(() => undefined)
  if (!isObject(value)) return Response.json(null, { status: 201 })
  return Response.json({ client_secret_expires_at: 0, ...value }, { status: 201 })
}

/** Uses the registered values, which may differ from the request. */
function createIdentity(
  client: OmitSymbolProperties<Client>,
  defaultMethod: AuthMethod,
  redirectUri: string,
): ClientIdentity {
  const declaredMethod = client.token_endpoint_auth_method
  const method = METHODS.find(one => one === declaredMethod) ?? defaultMethod
  const { client_secret: secret } = client
  const expiresAtSeconds = typeof client.client_secret_expires_at === 'number' ? client.client_secret_expires_at : 0
  return {
    id: client.client_id,
    redirectUri,
    ...(method === 'none' || typeof secret !== 'string' ? { method: 'none' } : { method, secret }),
    ...(expiresAtSeconds > 0 ? { expiresAt: expiresAtSeconds * 1000 } : {}),
  }
}

/** Creates the client metadata document. */
export function createClientDocument(document: string, name: string, redirectUris: readonly string[]): JsonObject {
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
  return oauthError('GW_OAUTH_CLIENT', { upstream, issuer, redirect, why })
}
