import type { AuthorizationServer } from 'oauth4webapi'
import type { Config, HttpReply, JsonObject, PluginHooks } from '../../../src/plugin.ts'
import { STRANGER } from '../../../src/plugin.ts'
import { oauthError } from '../errors.ts'
import type { ClientIdentity } from '../types.ts'
import type { Vault } from '../vault/vault.ts'
import { isSameIssuer } from './discovery.ts'
import type { Wire } from './oauth-requests.ts'
import { sanitizeErrorCode } from './oauth-requests.ts'

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
export function serveDocument({ authenticate, http }: PluginHooks, url: string): void {
  const redirect = url.slice(0, -DOCUMENT.length) + CALLBACK
  const body = JSON.stringify({ client_id: url, ...createMetadata(redirect, 'none') })
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

/** A client identity to resolve. */
interface ClientRequest {
  readonly server: AuthorizationServer
  readonly redirectUri: string
  readonly upstream: string
  readonly client: ConfiguredClient | undefined
  /** Client metadata document URL, if there is a public one. */
  readonly document: string | undefined
  readonly vault: Pick<Vault, 'findRegistration' | 'saveRegistration' | 'list'>
  readonly wire: Wire
}

type AuthMethod = ClientIdentity['method']

/** Authentication methods for registration, preferred first. */
const METHODS: readonly AuthMethod[] = ['none', 'client_secret_basic', 'client_secret_post']
export const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/
/** Registrations are renewed this long before their secret expires. */
const RENEW_MS = 60_000

/** Resolves the client identity: configured, metadata document, or dynamic registration. */
export async function resolveClient(request: ClientRequest): Promise<ClientIdentity> {
  const { client, server, redirectUri } = request
  const takesDocuments = server.client_id_metadata_document_supported === true
  if (client !== undefined && !isDocumentUrl(client.id)) return useConfiguredClient(request, client)
  const document = client?.id ?? selectDocument(request)
  if (document !== undefined && takesDocuments)
    return { id: document, method: client?.keyFile === undefined ? 'none' : 'private_key_jwt', redirectUri }
  if (server.registration_endpoint !== undefined) return findOrRegister(request)
  throw createClientError(request, 'it supports neither client registration nor client metadata documents')
}

/** Returns true if an id is a client metadata document URL. */
function isDocumentUrl(id: string): boolean {
  const url = URL.parse(id)
  return url?.protocol === 'https:' && url.pathname !== '/'
}

/** Selects how a configured client authenticates. */
function selectAuthMethod({ secret, method, keyFile }: ConfiguredClient, server: AuthorizationServer): AuthMethod {
  if (method !== undefined) return method
  if (keyFile !== undefined) return 'private_key_jwt'
  if (secret === undefined) return 'none'
  const methods = server.token_endpoint_auth_methods_supported
  return methods?.includes('client_secret_basic') === false && methods.includes('client_secret_post')
    ? 'client_secret_post'
    : 'client_secret_basic'
}

/** One issuer's client id must not be sent to another. */
async function useConfiguredClient(request: ClientRequest, client: ConfiguredClient): Promise<ClientIdentity> {
  const { server, redirectUri, vault } = request
  const issuer = client.issuer ?? (await vault.list()).find(one => one.client.id === client.id)?.issuer
  if (issuer !== undefined && !isSameIssuer(issuer, server.issuer))
    throw createClientError(request, `the configured client "${client.id}" belongs to ${issuer}`)
  return { ...createConfiguredIdentity(client, server), redirectUri }
}

export function createConfiguredIdentity(client: ConfiguredClient, server: AuthorizationServer): ClientIdentity {
  const { id, secret } = client
  return { id, method: selectAuthMethod(client, server), ...(secret === undefined ? {} : { secret }) }
}

/** The document lists redirects of its own origin only. */
function selectDocument({ document, redirectUri }: ClientRequest): string | undefined {
  if (document === undefined || !isDocumentUrl(document)) return undefined
  return URL.parse(redirectUri)?.origin === new URL(document).origin ? document : undefined
}

async function findOrRegister(request: ClientRequest): Promise<ClientIdentity> {
  const { server, redirectUri, vault } = request
  const registered = await vault.findRegistration(server.issuer, redirectUri)
  if (registered !== undefined && (registered.expiresAt ?? Infinity) > Date.now() + RENEW_MS) return registered
  const identity = await registerClient(request)
  await vault.saveRegistration(server.issuer, redirectUri, identity)
  return identity
}

async function registerClient(request: ClientRequest): Promise<ClientIdentity> {
  const { server, redirectUri, wire } = request
  const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const method = METHODS.find(one => supported.includes(one))
  if (method === undefined)
    throw createClientError(request, `it requires clients to authenticate with ${supported.join(' or ')}`)
  // Request no scopes: some servers would limit the client to them.
  const reply = await wire.postJson(server.registration_endpoint ?? '', {
    ...createMetadata(redirectUri, method),
    application_type: LOOPBACK.test(new URL(redirectUri).hostname) ? 'native' : 'web',
  })
  if (typeof reply.client_id === 'string') return createRegisteredIdentity(reply, method, redirectUri)
  const reason = typeof reply.error === 'string' ? sanitizeErrorCode(reply.error) : 'invalid response'
  throw createClientError(request, `registration was refused (${reason})`)
}

/** Uses the registered values, which may differ from the request. */
function createRegisteredIdentity(reply: JsonObject, requested: AuthMethod, redirectUri: string): ClientIdentity {
  const { client_secret: secret, client_secret_expires_at: seconds } = reply
  const method = METHODS.find(one => one === reply.token_endpoint_auth_method) ?? requested
  return {
    ...{ id: String(reply.client_id), redirectUri },
    ...(method === 'none' || typeof secret !== 'string' ? { method: 'none' } : { method, secret }),
    ...(typeof seconds === 'number' && seconds > 0 ? { expiresAt: seconds * 1000 } : {}),
  }
}

/** Creates client metadata (RFC 7591). */
function createMetadata(redirectUri: string, method: AuthMethod): JsonObject {
  return {
    client_name: 'tapgate',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: method,
  }
}

function createClientError({ upstream, server, redirectUri }: ClientRequest, why: string): Error {
  return oauthError('GW_OAUTH_CLIENT', { upstream, issuer: server.issuer, redirect: redirectUri, why })
}
