import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../src/plugin.ts'
import { BoundedMap } from '../../../src/plugin.ts'
import { oauthError } from '../errors.ts'
import type { CallerIdentity, ClientIdentity, GrantKey } from '../types.ts'
import { DEVICE_GRANT } from './client-identity.ts'
import type { FinishedLogin, LoginDeps } from './login.ts'
import type { PreparedLogin, UpstreamFlow } from './upstream-flow.ts'
import { createGrant, formatFailure } from './oauth-requests.ts'

/** Errors that make a registration useless. */
const NO_CLIENT: readonly (string | undefined)[] = ['invalid_client', 'unauthorized_client']
const MAX_MS = 600_000
/** Default poll interval, and the increment of `slow_down` (RFC 8628, section 3.5). */
const PAUSE_MS = 5000
const SLOWER_MS = 5000
const MAX_PAUSE_MS = 60_000
const MAX_OPEN = 100

/** A pending device login. */
interface BegunDevice {
  readonly handle: string
  /** Page for entering the code. */
  readonly url: string
  readonly code: string
  readonly expiresAt: number
}

interface DeviceRequest {
  readonly upstream: string
  readonly account: string
  readonly caller: CallerIdentity | undefined
  readonly scopes: readonly string[]
}

interface OpenDeviceLogin {
  readonly upstream: string
  /** The upstream's resource: a reload may give its name to another server. */
  readonly flowResource: string
  readonly account: string
  readonly caller: CallerIdentity | undefined
  readonly prepared: PreparedLogin
  readonly client: ClientIdentity
  readonly deviceCode: string
  readonly expiresAt: number
  readonly pauseMs: number
}

/** Device code logins (RFC 8628). They belong to the process that began them. */
export class DeviceLogins {
  readonly #deps: LoginDeps
  readonly #clock: Clock
  readonly #open = new BoundedMap<string, OpenDeviceLogin>({ max: MAX_OPEN })

  constructor(host: LoginDeps, clock: Clock) {
    this.#deps = host
    this.#clock = clock
  }

  /** @throws GatewayError GW_OAUTH_METADATA if the authorization server supports no device codes, GW_LOGIN_FAILED */
  async beginLogin({ upstream, account, caller, scopes: more }: DeviceRequest): Promise<BegunDevice> {
    const flow = this.#deps.flow(upstream)
    const prepared = await flow.prepareLogin(account, more)
    const { server, resource, scopes } = prepared
    if (server.device_authorization_endpoint === undefined)
      throw oauthError('GW_OAUTH_METADATA', {
        upstream,
        why: `${server.issuer} does not support device codes`,
      })
    const client = await flow.getClient(server, DEVICE_GRANT)
    const wire = await flow.loadWire()
    const { lib } = wire
    try {
      const clientMetadata = { client_id: client.id }
      const parameters = { resource, ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }) }
      const auth = await wire.createClientAuth(client, flow.keySpec)
      const response = await lib.deviceAuthorizationRequest(server, clientMetadata, auth, parameters, wire.options())
      const authorization = await lib.processDeviceAuthorizationResponse(server, clientMetadata, response)
      const expiresAt = Date.now() + Math.min(authorization.expires_in * 1000, MAX_MS)
      const handle = randomUUID()
      const pauseMs = authorization.interval === undefined ? PAUSE_MS : authorization.interval * 1000
      this.#open.set(handle, {
        ...{ upstream, flowResource: flow.resource, account, caller, prepared, client, expiresAt },
        deviceCode: authorization.device_code,
        pauseMs: Math.min(Math.max(pauseMs, 1), MAX_PAUSE_MS),
      })
      return {
        handle,
        url: parsePageUrl(upstream, authorization.verification_uri),
        code: authorization.user_code,
        expiresAt,
      }
    } catch (error) {
      // The next login registers again.
      if (NO_CLIENT.includes(wire.getErrorCode(error)))
        await this.#deps.vault.dropRegistration(server.issuer, DEVICE_GRANT)
      throw createLoginError(upstream, formatFailure(wire, error), error)
    }
  }

  /**
   * Resolves when the user has entered the code. May be called once per login. @throws GatewayError GW_LOGIN_UNKNOWN,
   * GW_LOGIN_FAILED
   */
  async awaitLogin(handle: string): Promise<FinishedLogin> {
    const open = this.#open.get(handle)
    this.#open.delete(handle)
    if (open === undefined) throw oauthError('GW_LOGIN_UNKNOWN')
    const { upstream, account, caller, prepared } = open
    const flow = this.#deps.flow(upstream)
    if (open.flowResource !== flow.resource) throw oauthError('GW_LOGIN_UNKNOWN')
    let { pauseMs } = open
    while (Date.now() < open.expiresAt) {
      await new Promise<void>(resolve => void this.#clock.after(pauseMs, resolve))
      const result = await this.#pollToken(flow, open)
      if (result === 'slower') pauseMs = Math.min(pauseMs + SLOWER_MS, MAX_PAUSE_MS)
      else if (result !== 'pending') {
        const key: GrantKey = { account, resource: flow.resource, issuer: prepared.server.issuer }
        await this.#deps.vault.put(key, { ...result, audience: prepared.resource, ...(caller && { caller }) })
        flow.clearChallenge(account)
        this.#deps.onGranted(account, key.resource, upstream)
        this.#deps.log.info('logged in', { upstream, account, issuer: key.issuer })
        return { ...key, upstream, scopes: result.scopesGranted }
      }
    }
    throw createLoginError(upstream, 'timed out waiting for the code')
  }

  async #pollToken(
    flow: UpstreamFlow,
    { upstream, prepared: { server, resource, scopes }, client, deviceCode }: OpenDeviceLogin,
  ): Promise<'pending' | 'slower' | ReturnType<typeof createGrant>> {
    const wire = await flow.loadWire()
    const { lib } = wire
    const clientMetadata = { client_id: client.id }
    try {
      const auth = await wire.createClientAuth(client, flow.keySpec)
      const options = wire.options({ more: { resource } })
      const response = await lib.deviceCodeGrantRequest(server, clientMetadata, auth, deviceCode, options)
      const tokens = await lib.processDeviceCodeResponse(server, clientMetadata, response)
      return createGrant(tokens, { client, scopes })
    } catch (error) {
      const errorCode = wire.getErrorCode(error)
      if (errorCode === 'authorization_pending') return 'pending'
      if (errorCode === 'slow_down') return 'slower'
      throw createLoginError(upstream, formatFailure(wire, error), error)
    }
  }
}

/** Only http and https pages are shown to users. */
function parsePageUrl(upstream: string, text: string): string {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol)) return url.href
  throw createLoginError(upstream, 'the verification page is not an http or https URL')
}

function createLoginError(upstream: string, why: string, cause?: unknown): Error {
  return oauthError('GW_LOGIN_FAILED', { upstream, why, cause })
}
