import { createHash } from 'node:crypto'
import type { Config, Upstream, UpstreamConfig, UpstreamContext } from '../api/index.ts'
import type { LoadedConfig } from '../config/index.ts'
import { createOnlooker } from '../core/session.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import { LISTS, METHODS, MODERN_VERSION } from '../protocol/methods.ts'
import { Payload } from '../protocol/payload.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import { readOwnPackage } from '../util/version.ts'
import type { Generation, GatewayDeps } from './generation.ts'
import { createServerFingerprint } from './generation.ts'
import { disableRecords } from './load-config.ts'

/** A server for comparison in a plan. Digests reveal only whether two are equal. */
export interface ServerSnapshot {
  readonly name: string
  /** Digest of the server's identity: if it differs, the server is restarted. */
  readonly digest: string
  /** Settings digest. */
  readonly settings: string
  /** Its own tool descriptions; absent if unknown. */
  readonly tools?: readonly JsonObject[]
  readonly problem?: string
}

/** A tool as clients see it. */
export interface ToolSnapshot {
  readonly name: string
  readonly upstream: string
  readonly original: string
  readonly digest: string
}

/** One generation for comparison in a plan. */
export interface ConfigSnapshot {
  readonly servers: readonly ServerSnapshot[]
  readonly tools: readonly ToolSnapshot[]
  /** Digests by top-level key, for the others. */
  readonly settings: Readonly<Record<string, string>>
}

type SnapshotSource = Pick<Generation, 'graph' | 'loaded' | 'added'>

/** All planned differences. */
export interface ConfigPlan {
  readonly servers: {
    readonly started: readonly string[]
    readonly stopped: readonly string[]
    /** Present before and after, and restarted. */
    readonly restarted: readonly string[]
    /** Still running, with other settings. */
    readonly changed: readonly string[]
    readonly kept: readonly string[]
    /** Servers that could not list their tools, with the reason. */
    readonly unknown: Readonly<Record<string, string>>
  }
  readonly tools: {
    readonly added: readonly string[]
    readonly removed: readonly string[]
    readonly renamed: readonly { readonly from: string; readonly to: string }[]
    readonly changed: readonly string[]
  }
  /** Other configuration keys that differ. */
  readonly settings: readonly string[]
  /** True if anything differs. */
  readonly changes: boolean
}

const NAMED: ReadonlySet<string> = new Set(['upstreams', 'listeners'])

/**
 * Builds a gateway without listeners, with stubs for its servers if `upstream` creates one, and passes it to `use`.
 */
type BuildPlanGateway = (
  source: LoadedConfig,
  upstream: NonNullable<GatewayDeps['upstream']>,
  use: (generation: SnapshotSource) => Promise<ConfigPlan>,
) => Promise<ConfigPlan>

/**
 * Compares the running configuration with another. An unchanged server is not started twice: a stub lists its tools.
 */
export async function comparePlan(
  describe: () => Promise<ConfigSnapshot>,
  next: LoadedConfig,
  build: BuildPlanGateway,
): Promise<ConfigPlan> {
  const now = await describe()
  const runningServers = new Map(now.servers.map(server => [server.name, server]))
  const stub: GatewayDeps['upstream'] = (spec, context) => {
    const before = runningServers.get(context.name)
    const isKept = before?.tools !== undefined && before.digest === digestServer(spec)
    return isKept ? createPlaceholder(spec, context, before.tools) : undefined
  }
  return build(disableRecords(next), stub, async generation =>
    compareConfigs(now, await snapshotConfig(generation, next.config)),
  )
}

/** Describes a generation for a plan; `config` is its complete source. */
export async function snapshotConfig(
  { graph, loaded, added }: SnapshotSource,
  config: Config = loaded.config,
): Promise<ConfigSnapshot> {
  const session = createOnlooker(readOwnPackage())
  const view = await graph.catalog.load('tools', session)
  const servers = [...graph.upstreams.values()].map(async ({ upstream }): Promise<ServerSnapshot> => {
    const { name, spec, problem } = upstream
    const part = await graph.catalog.getList(name, 'tools', session)
    return {
      name,
      digest: digestServer(spec),
      settings: digest(spec),
      ...(part === undefined ? {} : { tools: part.entries.map(({ value }) => value) }),
      ...(problem === undefined ? {} : { problem }),
    }
  })
  return {
    servers: await Promise.all(servers),
    tools: view.entries.map(({ exposed, upstream, original, value }) => ({
      ...{ name: exposed, upstream, original },
      digest: digest(value),
    })),
    settings: digestSettings(config, new Set([...added, ...listAddedListeners(loaded)])),
  }
}

/** Lists listeners from neither a file nor a flag: `serve` opens one for attached clients. */
function listAddedListeners({ config, file, origins }: SnapshotSource['loaded']): string[] {
  if (file === undefined) return []
  return Object.keys(config.listeners).filter(name => !origins.has(`/listeners/${name}/type`))
}

/** Digests of the top-level keys and of each listener, without additions to the file. */
function digestSettings(config: Config, added: ReadonlySet<string>): Readonly<Record<string, string>> {
  const keys = Object.entries(config).filter(([key]) => !NAMED.has(key))
  const listeners = Object.entries(config.listeners)
    .filter(([name]) => !added.has(name))
    .map(([name, value]) => [`listeners.${name}`, value] as const)
  return Object.fromEntries([...keys, ...listeners].map(([key, value]) => [key, digest(value)]))
}

function digestServer(spec: UpstreamConfig): string {
  return digest(createServerFingerprint(spec))
}

function digest(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('hex')
}

/** Creates a stub for a server that runs in another process: it lists the same tools and does nothing. */
function createPlaceholder(spec: UpstreamConfig, { name }: UpstreamContext, tools: readonly JsonObject[]): Upstream {
  return {
    name,
    spec,
    state: 'ready',
    problem: undefined,
    pid: undefined,
    server: {
      era: 'modern',
      version: MODERN_VERSION,
      info: { name, version: '' },
      capabilities: { tools: {} },
      instructions: undefined,
    },
    dispatch: ({ method }) => {
      const kind = METHODS.get(method)?.kind
      if (METHODS.get(method)?.to !== 'list' || kind === undefined)
        return Promise.resolve({
          error: rpcError(RPC.methodNotFound, `${method} is not available in a plan`),
        })
      const list = kind === 'tools' ? tools : []
      return Promise.resolve({ result: Payload.of({ [LISTS[kind].member]: list }) })
    },
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  }
}

/** Parses the verb's answer. */
export function parseSnapshot(answer: JsonObject): ConfigSnapshot {
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
  return {
    servers: list(answer.servers) as ServerSnapshot[],
    tools: list(answer.tools) as ToolSnapshot[],
    settings: (isObject(answer.settings) ? answer.settings : {}) as ConfigSnapshot['settings'],
  }
}

/** Compares servers and tools in two configurations. */
function compareConfigs(now: ConfigSnapshot, then: ConfigSnapshot): ConfigPlan {
  const [servers, tools, settings] = [compareServers(now, then), compareTools(now, then), compareSettings(now, then)]
  const { started, stopped, restarted, changed } = servers
  const lists = [started, stopped, restarted, changed, ...Object.values(tools), settings]
  return { servers, tools, settings, changes: lists.some(list => list.length > 0) }
}

function compareServers(now: ConfigSnapshot, then: ConfigSnapshot): ConfigPlan['servers'] {
  const before = new Map(now.servers.map(server => [server.name, server]))
  const after = new Map(then.servers.map(server => [server.name, server]))
  const both = [...after.values()].filter(({ name }) => before.has(name))
  const isSame = ({ name, digest }: ServerSnapshot): boolean => before.get(name)?.digest === digest
  const isUntouched = ({ name, settings }: ServerSnapshot): boolean => before.get(name)?.settings === settings
  const names = (servers: Iterable<ServerSnapshot>): string[] => [...servers].map(({ name }) => name)
  const unknown = then.servers.filter(({ tools, problem }) => tools === undefined || problem !== undefined)
  return {
    started: names([...after.values()].filter(({ name }) => !before.has(name))),
    stopped: names([...before.values()].filter(({ name }) => !after.has(name))),
    restarted: names(both.filter(one => !isSame(one))),
    changed: names(both.filter(one => isSame(one) && !isUntouched(one))),
    kept: names(both.filter(one => isSame(one) && isUntouched(one))),
    unknown: Object.fromEntries(unknown.map(({ name, problem = 'tool list not available' }) => [name, problem])),
  }
}

function compareTools(now: ConfigSnapshot, then: ConfigSnapshot): ConfigPlan['tools'] {
  const key = ({ upstream, original }: ToolSnapshot): string => JSON.stringify([upstream, original])
  const before = new Map(now.tools.map(tool => [key(tool), tool]))
  const after = new Map(then.tools.map(tool => [key(tool), tool]))
  // The tools of a server that could not be queried are unknown.
  const isUnknown = new Set(then.servers.filter(({ tools }) => tools === undefined).map(({ name }) => name))
  const both = [...after].flatMap(([at, to]) => {
    const from = before.get(at)
    return from === undefined ? [] : [{ from, to }]
  })
  return {
    added: [...after].filter(([at]) => !before.has(at)).map(([, { name }]) => name),
    removed: [...before]
      .filter(([at, { upstream }]) => !after.has(at) && !isUnknown.has(upstream))
      .map(([, { name }]) => name),
    renamed: both
      .filter(({ from, to }) => from.name !== to.name)
      .map(({ from, to }) => ({ from: from.name, to: to.name })),
    changed: both.filter(({ from, to }) => from.digest !== to.digest).map(({ to }) => to.name),
  }
}

function compareSettings(now: ConfigSnapshot, then: ConfigSnapshot): string[] {
  const keys = [...new Set([...Object.keys(now.settings), ...Object.keys(then.settings)])]
  return keys.filter(key => now.settings[key] !== then.settings[key]).sort()
}
