import type {
  Answer,
  Authorizer,
  Call,
  Principal,
  ClientRootsProvider,
  ServerDescription,
  Session,
  Upstream,
  UpstreamContext,
  UpstreamRuntime,
  UpstreamState,
} from '../api/index.ts'
import { gatewayError } from '../errors/errors.ts'
import { MODERN_VERSION } from '../protocol/methods.ts'
import type { McpUpstreamConfig } from './transport.ts'
import { IdleSweeper } from '../util/clock.ts'
import { CONNECTION_IDLE_MS, getPoolSizes } from './connection-pool.ts'
import type { McpUpstream } from './mcp-upstream.ts'
import { fingerprintTls } from './tls-files.ts'

type CreateAccountUpstream = (own: UpstreamContext) => McpUpstream

/** Creates an upstream: one for all callers, or one per account if the authorizer separates accounts. */
export function createUpstream(
  spec: McpUpstreamConfig,
  context: UpstreamContext,
  make: CreateAccountUpstream,
): Upstream {
  const { authorizer } = context
  const { getAccount } = authorizer ?? {}
  if (authorizer === undefined || getAccount === undefined) return make(context)
  return new AccountsUpstream(spec, context, principal => getAccount.call(authorizer, principal), make)
}

/** Features assumed before the first login; the server's lists decide later. */
const UNKNOWN: Omit<ServerDescription, 'info'> = {
  era: 'modern',
  version: MODERN_VERSION,
  capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
  instructions: undefined,
}

interface AccountEntry {
  readonly name: string
  readonly upstream: McpUpstream
  /** Last call time and caller. */
  usedAt: number
  principal: Principal
}

/** One server with separate connections, sessions and notifications for each account. */
class AccountsUpstream implements Upstream {
  readonly name: string
  readonly spec: McpUpstreamConfig
  readonly #context: UpstreamContext
  readonly #accountOf: (principal: Principal) => string
  readonly #make: CreateAccountUpstream
  readonly #accounts = new Map<string, AccountEntry>()
  readonly #sweeper: IdleSweeper<AccountEntry>
  readonly #leaving = new Set<Promise<void>>()
  readonly #tlsFiles: string
  #server: ServerDescription | undefined
  #isStopped = false

  constructor(
    spec: McpUpstreamConfig,
    context: UpstreamContext,
    accountOf: NonNullable<Authorizer['getAccount']>,
    make: CreateAccountUpstream,
  ) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#accountOf = accountOf
    this.#make = make
    this.#tlsFiles = fingerprintTls(spec, context)
    const idleMs = getPoolSizes(spec).idleMs ?? CONNECTION_IDLE_MS
    this.#sweeper = new IdleSweeper(context.clock, {
      idleMs: () => idleMs,
      list: () => this.#accounts.values(),
      idleSince: getIdleSince,
      close: account => this.#removeAccount(account),
    })
  }

  get state(): UpstreamState {
    if (this.#isStopped) return 'stopped'
    return this.#upstreams().some(({ state }) => state === 'ready') ? 'ready' : 'idle'
  }

  /** A failed account does not affect others. */
  get problem(): undefined {
    return undefined
  }

  get server(): ServerDescription {
    return this.#server ?? { ...UNKNOWN, info: { name: this.name, version: '0' } }
  }

  get isRemembered(): boolean {
    return this.#server === undefined
  }

  get isOutdated(): boolean {
    return fingerprintTls(this.spec, this.#context) !== this.#tlsFiles
  }

  get pid(): undefined {
    return undefined
  }

  get runtime(): UpstreamRuntime {
    const all = this.#upstreams().map(({ runtime }) => runtime)
    const failed = all.filter(({ lastErrorAt }) => lastErrorAt !== undefined)
    const [last] = failed.sort((a, b) => (b.lastErrorAt ?? 0) - (a.lastErrorAt ?? 0))
    return {
      instances: all.flatMap(({ instances }) => instances),
      restarts: all.reduce((sum, { restarts }) => sum + restarts, 0),
      inFlight: all.reduce((sum, { inFlight }) => sum + inFlight, 0),
      ...(last?.lastError === undefined ? {} : { lastError: last.lastError }),
      ...(last?.lastErrorAt === undefined ? {} : { lastErrorAt: last.lastErrorAt }),
    }
  }

  start(): Promise<void> {
    this.#isStopped = false
    return Promise.resolve()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#sweeper.stop()
    for (const account of this.#accounts.values()) this.#removeAccount(account)
    await Promise.all(this.#leaving)
    this.#context.reportState('stopped')
  }

  async dispatch(call: Call): Promise<Answer> {
    const { principal } = call.exchange
    const account = this.#getAccount(principal)
    account.usedAt = this.#context.clock.now()
    account.principal = principal
    return account.upstream.dispatch(call)
  }

  onSessionEnd(session: Session): void {
    this.#findAccount(session)?.upstream.onSessionEnd(session)
  }

  onRootsChange(changed: readonly Session[]): void {
    for (const { name, upstream } of this.#accounts.values()) {
      const own = changed.filter(({ principal }) => this.#isAccount(name, principal))
      if (own.length > 0) upstream.onRootsChange(own)
    }
  }

  #upstreams(): McpUpstream[] {
    return [...this.#accounts.values()].map(({ upstream }) => upstream)
  }

  #getAccount(principal: Principal): AccountEntry {
    if (this.#isStopped) throw gatewayError('GW_UPSTREAM_DOWN', { upstream: this.name, why: 'stopped' })
    const name = this.#accountOf(principal)
    const existing = this.#accounts.get(name)
    if (existing !== undefined) return existing
    this.#evictIdle()
    const usedAt = this.#context.clock.now()
    const caller = (): Principal => this.#accounts.get(name)?.principal ?? principal
    const account = {
      name,
      upstream: this.#make({ ...this.#createAccountContext(name), caller }),
      usedAt,
      principal,
    }
    this.#accounts.set(name, account)
    this.#sweeper.arm()
    return account
  }

  #findAccount({ principal }: Session): AccountEntry | undefined {
    return [...this.#accounts.values()].find(({ name }) => this.#isAccount(name, principal))
  }

  /** True if the caller uses this account; callers without an account get no notifications. */
  #isAccount(account: string, principal: Principal): boolean {
    try {
      return this.#accountOf(principal) === account
    } catch {
      return false
    }
  }

  /** Evicts the account that was idle longest. */
  #evictIdle(): void {
    const { max } = getPoolSizes(this.spec)
    if (this.#accounts.size < max) return
    const [idle] = [...this.#accounts.values()]
      .filter(account => getIdleSince(account) !== undefined)
      .sort((a, b) => a.usedAt - b.usedAt)
    if (idle !== undefined) return this.#removeAccount(idle)
    const why = `limit of ${max} account connections exceeded`
    throw gatewayError('GW_UPSTREAM_BUSY', { upstream: this.name, why, retryAfterMs: 1000 })
  }

  #removeAccount(account: AccountEntry): void {
    this.#accounts.delete(account.name)
    const stopping = account.upstream.stop().finally(() => this.#leaving.delete(stopping))
    this.#leaving.add(stopping)
  }

  /** Limits notifications to the account's callers and stores nothing for the next run. */
  #createAccountContext(account: string): UpstreamContext {
    const { roots, ...context } = this.#context
    const isOwn = ({ principal }: Session): boolean => this.#isAccount(account, principal)
    return {
      ...context,
      account,
      memory: undefined,
      log: context.log.child({ account }),
      ...(roots === undefined ? {} : { roots: listRootsOf(roots, isOwn) }),
      notify: (notification, isMeant = () => true) =>
        context.notify(notification, session => isOwn(session) && isMeant(session)),
      reportState: (state, problem) => {
        const server = this.#accounts.get(account)?.upstream.server
        if (server !== undefined) this.#server = server
        // A failed account does not change the state other accounts see.
        if (!this.#isStopped && state === 'ready') context.reportState(state, problem)
      },
    }
  }
}

function getIdleSince({ upstream, usedAt }: AccountEntry): number | undefined {
  return upstream.runtime.inFlight > 0 || upstream.isWatched || upstream.state === 'starting' ? undefined : usedAt
}

function listRootsOf(roots: ClientRootsProvider, isOwn: (session: Session) => boolean): ClientRootsProvider {
  const among = (isOn: (session: Session) => boolean = () => true) => {
    return (session: Session): boolean => isOwn(session) && isOn(session)
  }
  return {
    list: (ask, isOn) => roots.list(ask, among(isOn)),
    isOnly: (session, isOn) => roots.isOnly(session, among(isOn)),
    findClient: isOn => roots.findClient(among(isOn)),
  }
}
