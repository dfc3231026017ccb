import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Authorizer, PluginApi } from '../../src/plugin.ts'
import { getErrorMessage } from '../../src/plugin.ts'
import { WaitingCallers } from './callers.ts'
import { oauthError } from './errors.ts'
import { authorizerOf } from './flow/authorizer.ts'
import { DeviceLogins } from './flow/device.ts'
import type { LoginsHost } from './flow/login.ts'
import { Logins } from './flow/login.ts'
import { UpstreamFlow } from './flow/upstream-flow.ts'
import type { OAuthUpstream } from './upstreams.ts'
import { addressOf, isOfCaller } from './upstreams.ts'
import { machineTokens } from './machine/requests.ts'
import type { Caller, Grant, GrantKey, Refreshed, Vault } from './types.ts'
import { RefreshedGrants } from './vault/grants.ts'
import type { KeyPlaces } from './vault/seal.ts'
import { vaultKey } from './vault/seal.ts'
import { SharedVault } from './vault/shared-vault.ts'
import { FileVault, NAME } from './vault/vault.ts'

/** Means of the process that the service runs in: those of a plugin, or of a command alone. */
type ServiceApi = Pick<
  PluginApi,
  'clock' | 'log' | 'directory' | 'state' | 'fetch' | 'config' | 'programs' | 'keepSecret' | 'shared'
>

/** Hears of a login that was made. */
type Granted = (upstream: string, account: string) => void

/** The name of the gateway where people consent. */
export const CLIENT_NAME = 'tapgate'

/** Logins of a gateway: one vault, and a flow for each upstream. It lives as long as the gateway. */
export class OAuthService {
  readonly vault: Vault
  readonly grants: RefreshedGrants
  readonly logins: Logins
  readonly devices: DeviceLogins
  readonly waiting: WaitingCallers
  readonly #flows = new Map<string, UpstreamFlow>()
  readonly #listeners = new Set<Granted>()
  #api: ServiceApi
  #users = 0
  /** URL of the gateway's own client metadata document, where it has a public one. */
  #document: string | undefined

  constructor(api: ServiceApi) {
    this.#api = api
    const { clock, log } = api
    this.vault = this.#vaultOf(api)
    this.grants = new RefreshedGrants({ vault: this.vault, endpoint: this, clock, log })
    const host: LoginsHost = {
      vault: this.vault,
      log,
      flow: upstream => this.flow(upstream),
      granted: (account, resource, upstream) => {
        this.grants.forget(account, resource)
        for (const hear of this.#listeners) hear(upstream, account)
      },
    }
    this.logins = new Logins(host)
    this.devices = new DeviceLogins(host, clock)
    this.waiting = new WaitingCallers(this.vault)
  }

  /** Of many machines, which have no file in common, the vault is what they share. */
  #vaultOf(api: ServiceApi): Vault {
    const { shared, clock, log, state } = api
    const saw = (secret: string): void => this.#api.keepSecret(secret)
    if (shared !== undefined) return new SharedVault({ store: shared, clock, saw })
    const key = (): Promise<Buffer | undefined> => vaultKey(placesOf(this.#api))
    return new FileVault({ directory: state, key, clock, log, saw })
  }

  /** A generation of the configuration has come, with a fetch of its own. */
  opened(api: ServiceApi, document?: string): void {
    this.#api = api
    this.#document = document
    this.#users++
  }

  /** A generation has gone; with the last one the vault is closed. */
  async closed(): Promise<void> {
    if (--this.#users > 0) return
    await this.grants.settled()
    this.vault.close()
  }

  /** Hears of each login that is made in this process, until it is taken back. */
  onGranted(hear: Granted): () => void {
    this.#listeners.add(hear)
    return () => void this.#listeners.delete(hear)
  }

  /** Place of the logins, for people; undefined where they end with this process. */
  get place(): string | undefined {
    const { shared, state } = this.#api
    if (shared !== undefined) return 'the Redis of "cluster", for all replicas'
    return state === undefined ? undefined : join(state, NAME)
  }

  /** The flow of an upstream of the configuration. @throws GatewayError where there is none. */
  flow(upstream: string): UpstreamFlow {
    const flow = this.#flows.get(upstream)
    if (flow === undefined)
      throw oauthError('GW_OAUTH_METADATA', { upstream, why: 'gateway.yaml gives it no "oauth: {}"' })
    return flow
  }

  /** Upstreams with `oauth`, by name. */
  get flows(): ReadonlyMap<string, UpstreamFlow> {
    return this.#flows
  }

  /** Makes the flow of an upstream, in the place of one before. */
  add(name: string, spec: OAuthUpstream): UpstreamFlow {
    const { headers, oauth, tls } = spec
    const url = addressOf(spec)
    const { vault } = this
    const { clock, log, directory } = this.#api
    const flow = new UpstreamFlow(
      { name, url, headers, oauth, isApi: spec.type === 'openapi' },
      {
        ...{ vault, clock, log: log.child({ upstream: name }), directory },
        clientName: CLIENT_NAME,
        document: () => this.#document,
        // A URL that the server or its authorization server names is asked only where the server itself might be.
        fetchFrom: async (asked, options) => {
          const ca = tls?.ca === undefined ? undefined : await authorityIn(tls.ca, directory)
          return this.#api.fetch(asked, { ...options, ca, namedBy: httpUrl(url) })
        },
      },
    )
    this.#flows.set(name, flow)
    return flow
  }

  /** Puts tokens on the requests of an upstream. */
  authorizer(name: string, spec: OAuthUpstream): Authorizer {
    const flow = this.add(name, spec)
    const { grants } = this
    const { clock, directory, log } = this.#api
    const options = {
      isOfCaller: isOfCaller(spec),
      waits: (account: string, { issuer, subject }: Caller) =>
        this.waiting.add({
          ...{ upstream: name, resource: flow.resource, account },
          ...{ caller: { issuer, subject }, since: Date.now() },
        }),
    }
    if (spec.oauth.grant !== 'code')
      return authorizerOf(
        flow,
        machineTokens(flow, { clock, directory, log, keepSecret: token => this.#api.keepSecret(token) }),
        options,
      )
    const tokens = {
      isOfPeople: true,
      access: async (account: string) => grants.access(account, flow.resource),
      refused: async (account: string, generation: number) =>
        grants.refused(account, flow.resource, generation),
    }
    return authorizerOf(flow, tokens, options)
  }

  async refresh(key: GrantKey, grant: Grant, signal: AbortSignal): Promise<Refreshed> {
    const flow = [...this.#flows.values()].find(one => one.isFor(key))
    if (flow === undefined) return { kind: 'unreachable', reason: 'no upstream has its resource any more' }
    return flow.refresh(key, grant, signal)
  }
}

/** The authority that the server's certificate is of: in a company those of its authorization servers often are too. Read anew, as it may be renewed. */
async function authorityIn(file: string, directory: string): Promise<string> {
  try {
    return await readFile(resolve(directory, file), 'utf8')
  } catch (error) {
    throw new Error(
      `tls.ca cannot be read (${(error as NodeJS.ErrnoException).code ?? getErrorMessage(error)})`,
    )
  }
}

/** A WebSocket is an HTTP request at first, and its authorization servers are asked over HTTP. */
function httpUrl(url: string): string {
  return url.replace(/^ws/, 'http')
}

/** Places of the vault's key, by the configuration of now. */
function placesOf({ config, programs, directory, state }: ServiceApi): KeyPlaces {
  const { keyCommand, keyFile } = config.secrets ?? {}
  const command = keyCommand && ((): Promise<string> => programs.output(keyCommand, directory))
  return { directory, state, file: keyFile, command }
}
