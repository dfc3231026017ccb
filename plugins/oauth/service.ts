import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Authorizer, Clock, PluginApi, PluginHooks, Upstream } from '../../src/plugin.ts'
import { BoundedMap } from '../../src/plugin.ts'
import type { WaitingCaller } from './callers.ts'
import { createWaitingKey } from './callers.ts'
import { oauthError } from './errors.ts'
import { createAuthorizer } from './flow/authorizer.ts'
import { BrowserLogins } from './flow/login.ts'
import { UpstreamFlow } from './flow/upstream-flow.ts'
import type { CallerIdentity, OAuthUpstream, RefreshResult, StoredGrant } from './types.ts'
import { GATEWAY_ACCOUNT, getAddress, isPerCaller } from './types.ts'
import { MachineTokens } from './flow/machine-tokens.ts'
import { RefreshedGrants } from './vault/grants.ts'
import { SharedBackend } from './vault/shared-backend.ts'
import { loadVaultKey, SqliteBackend } from './vault/sqlite-backend.ts'
import { Vault } from './vault/vault.ts'

/** Parts of the plugin API that commands without a gateway provide too. */
type ServiceApi = Pick<
  PluginApi,
  'clock' | 'log' | 'directory' | 'state' | 'fetch' | 'config' | 'programs' | 'addSecret' | 'shared'
>

type LoginListener = (upstream: string, account: string) => void

const MAX_WAITING = 10_000

/** Logins of a gateway: one vault, and a flow for each upstream. It outlives reloads. */
export class OAuthService {
  readonly vault: Vault
  readonly grants: RefreshedGrants
  readonly logins: BrowserLogins
  /** Callers that were asked to log in. */
  readonly waiting = new BoundedMap<string, WaitingCaller>({ max: MAX_WAITING })
  readonly #flows = new Map<string, UpstreamFlow>()
  readonly #listeners = new Set<LoginListener>()
  #api: ServiceApi
  #users = 0
  /** Client metadata document URL, if there is a public one. */
  #document: string | undefined

  constructor(api: ServiceApi) {
    this.#api = api
    const { clock, log, shared, state } = api
    // Replicas have no common file, so their vault is the shared store.
    const backend =
      shared === undefined
        ? new SqliteBackend({ directory: state, key: () => loadVaultKey(this.#api), clock, log })
        : new SharedBackend(shared)
    this.vault = new Vault({ backend, onSecret: secret => this.#api.addSecret(secret) })
    this.grants = new RefreshedGrants({ vault: this.vault, endpoint: this, clock, log })
    this.logins = new BrowserLogins({
      ...{ vault: this.vault, clock, log },
      flow: upstream => this.flow(upstream),
      onGranted: (account, upstream) => {
        for (const listener of this.#listeners) listener(upstream, account)
      },
    })
  }

  /** Adds a generation, whose fetch is used from now on. */
  addGeneration(api: ServiceApi, document?: string): void {
    this.#api = api
    this.#document = document
    this.#users++
  }

  /** Removes a generation; closes the vault with the last one. */
  async removeGeneration(): Promise<void> {
    if (--this.#users > 0) return
    await this.grants.waitUntilIdle()
    this.vault.close()
  }

  /** Adds a listener for logins in this process; returns a function that removes it. */
  onGranted(listener: LoginListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** @throws GatewayError if the upstream has no `oauth` */
  flow(upstream: string): UpstreamFlow {
    const flow = this.#flows.get(upstream)
    if (flow === undefined)
      throw oauthError('GW_OAUTH_METADATA', { upstream, why: 'gateway.yaml has no "oauth" for it' })
    return flow
  }

  get flows(): ReadonlyMap<string, UpstreamFlow> {
    return this.#flows
  }

  /** Creates or replaces an upstream's flow. */
  #addFlow(name: string, spec: OAuthUpstream): UpstreamFlow {
    const { headers, oauth, tls } = spec
    const url = getAddress(spec)
    const { vault } = this
    const { clock, log, directory } = this.#api
    const flow = new UpstreamFlow(
      { name, url, headers, oauth, isApi: spec.type === 'openapi' },
      {
        ...{ vault, clock, log: log.child({ upstream: name }), directory },
        document: () => this.#document,
        // A discovered URL may be private only if the upstream's own URL is.
        fetchFrom: async (target, options) => {
          // The upstream's CA often signs its authorization servers too. Read each time, as it may be renewed.
          const ca = tls?.ca === undefined ? undefined : await readFile(resolve(directory, tls.ca), 'utf8')
          return this.#api.fetch(target, { ...options, ca, namedBy: url.replace(/^ws/, 'http') })
        },
      },
    )
    this.#flows.set(name, flow)
    return flow
  }

  createAuthorizer(name: string, spec: OAuthUpstream): Authorizer {
    const flow = this.#addFlow(name, spec)
    const { grants } = this
    const { clock, directory, log } = this.#api
    const options = {
      isPerCaller: isPerCaller(spec),
      onWaiting: (account: string, { issuer, subject }: CallerIdentity): void => {
        const one = { upstream: name, account, caller: { issuer, subject }, since: Date.now() }
        this.waiting.set(createWaitingKey(name, account), one)
      },
    }
    if (spec.oauth.grant !== 'code') {
      const keepSecret = (token: string): void => this.#api.addSecret(token)
      return createAuthorizer(flow, new MachineTokens(flow, { clock, directory, log, keepSecret }), options)
    }
    const tokens = {
      isInteractive: true,
      access: (account: string) => grants.access({ account, resource: flow.resource }),
      renewRefused: (account: string, generation: number) =>
        grants.renewRefused({ account, resource: flow.resource }, generation),
    }
    return createAuthorizer(flow, tokens, options)
  }

  async refresh(grant: StoredGrant): Promise<RefreshResult> {
    const flow = [...this.#flows.values()].find(one => one.ownsGrant(grant))
    if (flow === undefined) return { kind: 'unreachable', reason: 'no upstream has this resource' }
    return flow.refresh(grant)
  }
}

/** Vault poll interval while an upstream waits for a login, which another process may make. */
const LOOK_MS = 1000

/** Starts waiting upstreams after a login in this or another process. */
export function watchLogins(hooks: PluginHooks, service: OAuthService, clock: Clock): void {
  const upstreams = new Map<string, Upstream>()
  /** Generation of the latest tried login, to try each only once. */
  const tried = new Map<string, number>()
  let cancelTimer: (() => void) | undefined
  let isClosed = false

  const listWaiting = (): Upstream[] =>
    [...upstreams.values()].filter(({ name, state }) => state === 'needs_auth' && service.flows.has(name))
  const startWaiting = async (): Promise<void> => {
    for (const upstream of listWaiting()) {
      const { resource } = service.flow(upstream.name)
      const grant = await service.vault.find({ account: GATEWAY_ACCOUNT, resource }).catch(() => undefined)
      if (grant === undefined || grant.lost !== undefined || tried.get(upstream.name) === grant.generation) continue
      tried.set(upstream.name, grant.generation)
      void upstream.start()
    }
    cancelTimer = undefined
    arm()
  }
  const arm = (): void => {
    if (listWaiting().length > 0 && !isClosed) cancelTimer ??= clock.after(LOOK_MS, () => void startWaiting())
  }

  // Start before the login is answered, so that an immediate call waits for the start.
  const forget = service.onGranted((name, account) => {
    if (account === GATEWAY_ACCOUNT)
      void listWaiting()
        .find(one => one.name === name)
        ?.start()
  })

  hooks.dispatch.tap((next, upstream) => {
    upstreams.set(upstream.name, upstream)
    arm()
    return next
  })
  hooks.upstreamState.tap(arm)
  hooks.health.tap(findings =>
    findings.map(one =>
      one.code === 'upstream-needs-login' && service.flows.has(one.upstream ?? '')
        ? { ...one, fix: `gateway login ${one.upstream}` }
        : one,
    ),
  )
  hooks.close.tap(() => {
    isClosed = true
    forget()
    cancelTimer?.()
  })
}
