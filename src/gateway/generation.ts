import { join, resolve } from 'node:path'
import { randomBytes } from 'node:crypto'
import type {
  Clock,
  Config,
  Fetch,
  Log,
  PeerDirectory,
  Notification,
  ProcessLimiter,
  Programs,
  ClientRootsProvider,
  Session,
  Upstream,
  UpstreamConfig,
  UpstreamContext,
  UpstreamHttp,
  UpstreamMemory,
  UpstreamEndpoint,
  UpstreamState,
} from '../api/index.ts'
import type { SandboxContext } from '../api/process.ts'
import type { Feature, LoadedConfig } from '../config/index.ts'
import { listPrivatePlaces, withConfig, parseConfig } from '../config/index.ts'
import type { Problem } from '../config/problem.ts'
import { locateProblem } from '../config/problem.ts'
import { collectSecrets } from '../config/secrets.ts'
import type { UnlistedMethods } from '../core/catalog/upstream-list.ts'
import { createCannotAskReply } from '../core/client-request.ts'
import type { Parking } from '../core/client-requests/parking.ts'
import { RuntimeGraph } from '../core/generation-graph.ts'
import { createHandles, Seal } from '../core/seal.ts'
import type { TaskStore } from '../core/tasks/task-store.ts'
import { ReusedUpstream, getLiveUpstream } from '../core/reused-upstream.ts'
import { gatewayError, GatewayError, getErrorMessage } from '../errors/errors.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { installPlugins } from '../plugin-host/install.ts'
import { listSecretOptions } from '../plugin-host/options.ts'
import type { ChosenPlugin } from '../plugin-host/resolve.ts'
import { chooseBuiltins, importPlugins, orderPlugins } from '../plugin-host/resolve.ts'
import type { SlotTable } from '../plugin-host/slots.ts'
import type { Plugin, PluginApi } from '../plugin.ts'
import type { Finding } from '../util/finding.ts'
import type { Secrets } from '../util/secrets.ts'
import { redactValue, redactThrown } from '../util/secrets.ts'
import { readOwnPackage } from '../util/version.ts'
import { builtins } from './builtins.ts'
import type { GatewayOptions } from '../api/gateway.ts'
import { listOwnFolders } from '../processes/sandbox-paths.ts'
import { UpstreamMemoryStore } from '../store/upstream-memory-store.ts'
import { PrivatePathSet } from '../util/private-path.ts'
import { loadKeyFile } from '../util/storage/key-file.ts'

/** State shared by all generations. */
export interface GatewayDeps {
  readonly log: Log
  /** Secrets from all configurations so far. */
  readonly secrets: Secrets
  readonly clock: Clock
  readonly slots: SlotTable
  readonly seal: Seal
  readonly parking: Parking
  readonly tasks: TaskStore
  readonly unlisted: UnlistedMethods
  /** Process limits, which a reload may change. */
  readonly processLimits: ProcessLimiter & { resize(max: number, starting: number): void }
  readonly programs: Programs
  /** Runs an owner verb on this generation's gateway. */
  readonly runVerb: PluginApi['control']
  /** Forwards a notification that a plugin received from a peer for an upstream of the running generation. */
  readonly onPeerNotification: PluginApi['emitNotification']
  readonly getListenerUrl: PluginApi['getListenerUrl']
  /** Paths hidden from sandboxes; every configuration adds its own. */
  readonly privatePlaces: PrivatePathSet
  /** State that outlives this process; absent without a state directory. */
  readonly memories?: UpstreamMemoryStore | undefined
  /** Directory for plugin state; `isShared` if other gateway processes use it. */
  readonly state: { readonly directory: string | undefined; readonly isShared: boolean }
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly plugins: readonly Plugin<never>[]
  /** Creates upstreams in place of plugins, for a plan. */
  readonly upstream?: ((spec: UpstreamConfig, context: UpstreamContext) => Upstream | undefined) | undefined
  /** Forwards notifications and state changes of an upstream to its generations, once it is created. */
  upstreamSays(
    name: string,
    notification: Notification,
    upstream: Upstream | undefined,
    isMeant?: (session: Session) => boolean,
  ): void
  upstreamChanged(name: string, state: UpstreamState, upstream: Upstream | undefined): void
  /** Returns the hooks of an upstream's current generation; undefined before the first. */
  hooksOf(name: string, upstream: Upstream | undefined): Hooks | undefined
  /** Requests client roots outside calls, for an upstream that is created later. */
  rootsFor(upstream: () => Upstream | undefined): ClientRootsProvider
}

/** A loaded configuration with its graph. */
export interface Generation {
  /** The configuration without plugins' changes. */
  readonly written: LoadedConfig
  readonly loaded: LoadedConfig
  readonly graph: RuntimeGraph
  readonly plugins: readonly ChosenPlugin[]
  /** This gateway's other processes. */
  readonly neighbours: PeerDirectory | undefined
  /** Listeners that plugins added; they serve no clients of the owner. */
  readonly added: ReadonlySet<string>
  /** Configuration warnings from external plugins. */
  readonly warnings: readonly Problem[]
}

/** Builds plugins, hooks, upstreams and graph, without sockets or processes. Reuses unchanged upstreams. */
export async function buildGeneration(
  written: LoadedConfig,
  around: GatewayDeps,
  before?: Generation,
): Promise<Generation> {
  around.secrets.add(written.secrets)
  try {
    return await buildParts(written, around, before)
  } catch (thrown) {
    throw redactThrown(thrown, around.secrets.hide)
  }
}

async function buildParts(
  written: LoadedConfig,
  around: GatewayDeps,
  before: Generation | undefined,
): Promise<Generation> {
  const { config, directory, files } = written
  around.privatePlaces.add(listPrivatePlaces(written))
  const locate = (finding: Finding): Problem => redactValue(locateProblem(written, finding), around.secrets.hide)
  const plugins = orderPlugins([
    ...chooseBuiltins(replaceBuiltins(around.plugins), config),
    ...(await importPlugins(config, directory, locate)),
    ...around.plugins
      .filter(({ name }) => builtins.every(builtin => builtin.name !== name))
      .map(plugin => ({ plugin, options: undefined, from: 'code', pointer: '' })),
  ])
  around.secrets.add(plugins.flatMap(listSecretOptions))
  const { log, clock, slots, programs } = around
  const { hide } = around.secrets
  const { directory: stateDirectory, isShared } = around.state
  const state = (plugin: Plugin<never>): string | undefined =>
    isShared && plugin.sharesState !== true ? undefined : stateDirectory
  const warnings: Problem[] = []
  const warn = (problem: Problem): void => void warnings.push(problem)
  const api = {
    config,
    directory,
    files,
    privatePlaces: around.privatePlaces.all,
    log,
    clock,
    slots,
    fetch: createLazyFetch(config, around),
    programs,
    handles: (plugin: string) => createHandles(around.seal, plugin),
    control: around.runVerb,
    upstreamSays: around.onPeerNotification,
    getListenerUrl: around.getListenerUrl,
    state,
    hide,
    keepSecret: (value: string) => around.secrets.addTemporary(value),
    locate,
    warn,
  }
  const hooks = await installPlugins(plugins, api)
  try {
    return { ...assembleGeneration(written, around, plugins, hooks, before), warnings }
  } catch (error) {
    // Close the resources that plugins opened; no other code would.
    await hooks.getRunner('close')?.()
    throw error
  }
}

/** Replaces built-in plugins by those with their names that were given in code. */
function replaceBuiltins(plugins: readonly Plugin<never>[]): readonly Plugin<never>[] {
  const byName = new Map(plugins.map(plugin => [plugin.name, plugin]))
  return builtins.map(plugin => byName.get(plugin.name) ?? plugin)
}

function assembleGeneration(
  written: LoadedConfig,
  around: GatewayDeps,
  plugins: readonly ChosenPlugin[],
  hooks: Hooks,
  before: Generation | undefined,
): Omit<Generation, 'warnings'> {
  const { config, directory } = written
  const loaded = withConfig(written, applyConfigureHooks(config, hooks, directory, builtins))
  around.secrets.add(collectSecrets(loaded.config))
  const upstreams = createUpstreams(loaded, plugins, hooks, around, before)
  const identity = getServerInfo(loaded)
  const { seal, parking, tasks, unlisted, log, clock } = around
  const { hide } = around.secrets
  const neighbours = hooks.services.peers
  if (neighbours !== undefined) seal.useSharedKeys(neighbours.sealing)
  const graph = new RuntimeGraph({
    config: loaded.config,
    ...{ hooks, upstreams, identity, seal, parking, tasks, unlisted, log, clock, hide },
    before: before?.graph,
  })
  const names = Object.keys(loaded.config.listeners)
  const added = new Set(names.filter(name => config.listeners[name] === undefined))
  return { written, loaded, graph, plugins, neighbours, added }
}

function createUpstreams(
  loaded: LoadedConfig,
  plugins: readonly ChosenPlugin[],
  hooks: Hooks,
  around: GatewayDeps,
  before?: Generation,
): Map<string, Upstream> {
  const upstreams = new Map<string, Upstream>()
  const isForOthers = listForeignKeys(plugins)
  for (const [name, spec] of Object.entries(loaded.config.upstreams)) {
    if (!spec.enabled) continue
    const previous =
      before?.loaded.directory === loaded.directory ? before.graph.upstreams.get(name)?.upstream : undefined
    const isSame =
      previous !== undefined &&
      getLiveUpstream(previous).isOutdated !== true &&
      createFingerprint(previous.spec, isForOthers) === createFingerprint(spec, isForOthers)
    if (isSame) upstreams.set(name, reuseUpstream(spec, previous))
    else {
      const memory = around.memories?.getMemory(name, describeServerIdentity(spec, isForOthers, loaded, around))
      upstreams.set(name, createUpstream(name, spec, { loaded, hooks, around, memory }))
    }
  }
  return upstreams
}

/** Keys that an upstream itself does not read: those of the core, and those claimed by plugins. */
function listForeignKeys(plugins: readonly ChosenPlugin[]): ReadonlySet<string> {
  const claims = [...builtins, ...plugins.map(({ plugin }) => plugin)].map(plugin => plugin.claims)
  const read = claims.filter(claim => claim?.makesUpstreams !== true)
  return new Set([...CORE_KEYS, ...read.flatMap(claim => claim?.upstream ?? [])])
}

const CORE_KEYS = ['prefix', 'enabled', 'onFailure', 'start']

function createFingerprint(spec: UpstreamConfig, without: ReadonlySet<string>): string {
  return JSON.stringify(Object.entries(spec).filter(([key]) => !without.has(key)))
}

/** Returns a text that changes with the server: excludes keys that only the core and built-in plugins read. */
export function createServerFingerprint(spec: UpstreamConfig): string {
  return createFingerprint(spec, listForeignKeys([]))
}

/** Reuses an upstream for a generation that may have other settings. */
function reuseUpstream(spec: UpstreamConfig, upstream: Upstream): Upstream {
  return JSON.stringify(upstream.spec) === JSON.stringify(spec)
    ? upstream
    : new ReusedUpstream(getLiveUpstream(upstream), spec)
}

/** Inherited environment variables that may identify a server's user. */
const OWNER_VARIABLES = 'HOME LOGNAME USER APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA USERNAME USERPROFILE'.split(' ')

/**
 * Collects everything that determines a server's lists, plugins included: if it changes, stored lists are invalid.
 */
function describeServerIdentity(
  spec: UpstreamConfig,
  without: ReadonlySet<string>,
  { config, directory }: LoadedConfig,
  { environment }: GatewayDeps,
): string {
  const inherited = spec.type === 'stdio' ? [...OWNER_VARIABLES, ...spec.inheritEnv].map(key => environment[key]) : []
  return JSON.stringify([readOwnPackage(), directory, createFingerprint(spec, without), inherited, config.plugins])
}

interface UpstreamDeps {
  readonly loaded: LoadedConfig
  readonly hooks: Hooks
  readonly around: GatewayDeps
  readonly memory: UpstreamMemory | undefined
}

function createUpstream(name: string, spec: UpstreamConfig, { loaded, hooks, around, memory }: UpstreamDeps): Upstream {
  let made: Upstream | undefined
  const plain: UpstreamContext = {
    name,
    log: around.log.child({ upstream: name }),
    clock: around.clock,
    hide: around.secrets.hide,
    directory: loaded.directory,
    gateway: readOwnPackage(),
    environment: around.environment,
    processLimiter: around.processLimits,
    memory,
    sandboxContext: createSandboxing(name, around),
    notify: (notification, isMeant) => around.upstreamSays(name, notification, made, isMeant),
    ask: (ask, exchange) => (exchange === undefined ? Promise.resolve(createCannotAskReply(ask)) : exchange.ask(ask)),
    roots: around.rootsFor(() => made),
    reportState: state => around.upstreamChanged(name, state, made),
    reportSessionEnd: session => around.hooksOf(name, made)?.getRunner('sessionEnd')?.(session),
  }
  try {
    const context = addAuthorizer(hooks, spec, plain)
    made =
      around.upstream?.(spec, context) ?? hooks.getRunner('createUpstream', spec.type)?.(spec, context) ?? undefined
    if (made !== undefined) return made
  } catch (cause) {
    const detail = cause instanceof GatewayError ? cause.detail : undefined
    throw gatewayError('GW_UPSTREAM_START', { upstream: name, why: getErrorMessage(cause), detail, cause })
  }
  throw gatewayError('GW_UPSTREAM_START', {
    upstream: name,
    why: `unknown upstream type "${spec.type}": no plugin provides it`,
  })
}

function addAuthorizer(hooks: Hooks, spec: UpstreamConfig, context: UpstreamContext): UpstreamContext {
  const authorizer = hooks.getRunner('authorize')?.(spec, context) ?? undefined
  const own: UpstreamContext = authorizer === undefined ? context : { ...context, authorizer }
  const http = async (reach: UpstreamEndpoint): Promise<UpstreamHttp> => {
    const { openUpstreamHttp } = await import('../upstreams/http/upstream-http.ts')
    return openUpstreamHttp(reach, own)
  }
  return { ...own, http }
}

function createSandboxing(name: string, { memories, privatePlaces }: GatewayDeps): SandboxContext {
  const home = memories && join(memories.directory, 'servers', name)
  return { home, listPrivatePaths: () => privatePlaces.all }
}

function getServerInfo({ config }: LoadedConfig): { name: string; version: string } {
  const own = readOwnPackage()
  const { name, version = own.version, title } = config.server
  const isDefault = name === own.name && title === undefined && config.server.version === undefined
  return { name, version, ...(title === undefined ? {} : { title }), ...(isDefault ? { isDefault } : {}) }
}

interface FetchDeps {
  readonly clock: Clock
  readonly log: Log
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Creates a configuration's guarded fetch, loaded on first use. */
export function createLazyFetch({ network }: Config, { clock, log, environment }: FetchDeps): Fetch {
  let loading: Promise<Fetch> | undefined
  return async (url, options) => {
    loading ??= import('../net/guarded-fetch.ts').then(({ guardedFetch }) =>
      guardedFetch({ clock, log, environment, allowed: network.private }),
    )
    return (await loading)(url, options)
  }
}

/** Upstream types in the schema; all others belong to plugins. */
const CORE_TYPES: ReadonlySet<string> = new Set(['stdio', 'http', 'sse', 'ws'])
/** Defaults for an upstream type that is not in the schema: no limits unless configured. */
const UPSTREAM_DEFAULTS = {
  enabled: true,
  onFailure: 'omit',
  start: 'auto',
  isolation: 'shared',
  timeout: 0,
  limits: { concurrency: 0, queue: 0, queueTimeout: 0 },
  breaker: false,
  retry: false,
}

/**
 * Adds the changes of plugins by the `configure` hook. New and changed listeners and upstreams are validated and get
 * the same defaults as in a file.
 * @throws GatewayError GW_CONFIG_INVALID
 */
function applyConfigureHooks(written: Config, hooks: Hooks, directory: string, features: readonly Feature[]): Config {
  const config = hooks.getRunner('configure')?.(written) ?? written
  if (config === written) return written
  const listeners = omitFields(config.listeners, written.listeners)
  const upstreams = omitFields(config.upstreams, written.upstreams)
  const described = upstreams.filter(([, { type }]) => CORE_TYPES.has(type))
  const own = upstreams.filter(([, { type }]) => !CORE_TYPES.has(type))
  const added = parseConfig(
    {
      version: 1,
      ...getAuthConfig(config),
      listeners: Object.fromEntries(listeners),
      upstreams: Object.fromEntries(described),
    },
    { directory, features },
  ).config
  const completed = own.map(([name, spec]) => [
    name,
    Object.freeze({ ...UPSTREAM_DEFAULTS, ...spec }) as UpstreamConfig,
  ])
  return Object.freeze({
    ...config,
    listeners: Object.freeze({ ...config.listeners, ...added.listeners }),
    upstreams: Object.freeze({
      ...config.upstreams,
      ...added.upstreams,
      ...(Object.fromEntries(completed) as Config['upstreams']),
    }),
  })
}

/** Caller identities for caller checks, without listeners and upstreams, which are not checked here. */
function getAuthConfig({ auth }: Config): Pick<Config, 'auth'> {
  if (auth === undefined) return {}
  const { listeners: _, ...authWithoutListeners } = auth
  return { auth: { ...authWithoutListeners, rules: [], except: [] } }
}

function omitFields<T>(now: Readonly<Record<string, T>>, before: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(now).filter(([name, spec]) => before[name] !== spec)
}

const NAME = 'seal.key'
const BYTES = 32

interface SealKeyOptions {
  /** Absolute; created with owner-only permissions. */
  readonly directory: string
  /** True to replace the key: data sealed before becomes invalid. */
  readonly fresh?: boolean | undefined
  readonly log: Log
}

/**
 * Loads the key that seals ids and cursors across runs: the same for all processes that share the directory. Never
 * rejects; if it cannot be stored, ids are invalid after this run, and a warning is logged.
 */
export async function loadSealKey({ directory, fresh, log }: SealKeyOptions): Promise<Buffer> {
  const path = join(directory, NAME)
  try {
    return await loadKeyFile(path, BYTES, fresh)
  } catch (error) {
    log.warn('storing the gateway key failed: task ids become invalid after a restart', {
      file: path,
      why: getErrorMessage(error),
    })
    return randomBytes(BYTES)
  }
}

/** Creates the seal for ids and cursors, with a persistent key if there is a state directory. */
export async function openSeal(
  memories: UpstreamMemoryStore | undefined,
  { fresh }: GatewayOptions,
  log: Log,
): Promise<Seal> {
  return memories === undefined
    ? new Seal()
    : new Seal(await loadSealKey({ directory: memories.directory, fresh, log }))
}

/** Persistent state, and its private paths. */
export async function openState(
  ...args: [loaded: LoadedConfig, options: GatewayOptions, means: { readonly log: Log; readonly clock: Clock }]
): Promise<GatewayState> {
  const [loaded, { state, fresh, ephemeral, environment = {} }, { log, clock }] = args
  const directory = resolveStateDirectory(loaded, state)
  const isOwn = directory !== undefined && ephemeral !== true
  const memories = isOwn ? await UpstreamMemoryStore.open({ directory, fresh, log, clock }) : undefined
  const privatePlaces = new PrivatePathSet()
  privatePlaces.add(listOwnFolders(environment))
  if (directory !== undefined) privatePlaces.add([{ directory }])
  return { memories, directory, privatePlaces }
}

interface GatewayState {
  readonly memories: UpstreamMemoryStore | undefined
  /** Directory for plugin state. */
  readonly directory: string | undefined
  readonly privatePlaces: PrivatePathSet
}

/** Returns the configured state directory, or the one from the gateway options. */
function resolveStateDirectory(
  { config: { state }, directory }: Pick<LoadedConfig, 'config' | 'directory'>,
  fallback: string | undefined,
): string | undefined {
  if (state === false) return undefined
  const location = state === undefined ? fallback : resolve(directory, state.directory)
  return location === undefined ? undefined : resolve(location)
}
