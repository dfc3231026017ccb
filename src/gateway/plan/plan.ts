import { createHmac } from 'node:crypto'
import type { RecentCall } from '../../api/explain.ts'
import type { Config, Upstream, UpstreamConfig, UpstreamContext } from '../../api/index.ts'
import { onlooker } from '../../core/session.ts'
import { gatewayError } from '../../errors/errors.ts'
import { isObject, type JsonObject } from '../../protocol/json/json.ts'
import { LISTS, METHODS } from '../../protocol/methods.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { MODERN_VERSION } from '../../protocol/versions.ts'
import { ownPackage } from '../../util/version.ts'
import { serverFingerprint, type Generation } from '../generation.ts'

/** A server as a plan compares it. Digests say whether two are the same, and nothing of what is in them. */
export interface PlannedServer {
  readonly name: string
  /** Of what the server is: another one means that it is started anew. */
  readonly digest: string
  /** Of all that is said of it. */
  readonly settings: string
  /** Its tools, as it describes them; absent where they are not known. */
  readonly tools?: readonly JsonObject[]
  readonly problem?: string
}

/** A tool as clients see it. */
export interface PlannedTool {
  readonly name: string
  readonly upstream: string
  readonly original: string
  readonly digest: string
}

/** All of one generation that a plan compares. */
export interface Planned {
  readonly servers: readonly PlannedServer[]
  readonly tools: readonly PlannedTool[]
  /** Digests of the other top-level keys. */
  readonly settings: Readonly<Record<string, string>>
  readonly recent: readonly RecentCall[]
}

/** The parts of a generation that a plan looks at. */
type Described = Pick<Generation, 'graph' | 'loaded' | 'added'>

/** Calls that are looked at, at most. */
const MOST_RECENT = 200
const NAMED: ReadonlySet<string> = new Set(['upstreams', 'listeners'])

/** Describes a generation for a plan; `config` is the whole of what it was made from. `salt` goes into all digests, so that they say nothing to who does not know it. */
export async function plannedOf(
  { graph, loaded, added }: Described,
  salt: string,
  config: Config = loaded.config,
): Promise<Planned> {
  const digest = (value: unknown): string => digestOf(JSON.stringify(value) ?? '', salt)
  const session = onlooker(ownPackage())
  const view = await graph.catalog.load('tools', session)
  const servers = [...graph.upstreams.values()].map(async ({ upstream }): Promise<PlannedServer> => {
    const { name, spec, problem } = upstream
    const part = await graph.catalog.part(name, 'tools', session)
    return {
      name,
      digest: serverDigest(spec, salt),
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
    settings: settingsOf(config, salt, new Set([...added, ...unwritten(loaded)])),
    recent: (graph.hooks.runner('recentCalls')?.([]) ?? []).slice(0, MOST_RECENT),
  }
}

/** Listeners that stand in no file and no flag: `serve` opens one that clients attach to. */
function unwritten({ config, file, origins }: Described['loaded']): string[] {
  if (file === undefined) return []
  return Object.keys(config.listeners).filter(name => !origins.has(`/listeners/${name}/type`))
}

/** Digests of the top-level keys and of each listener, but for what was added to the file. */
function settingsOf(
  config: Config,
  salt: string,
  added: ReadonlySet<string> = new Set(),
): Readonly<Record<string, string>> {
  const keys = Object.entries(config).filter(([key]) => !NAMED.has(key))
  const listeners = Object.entries(config.listeners)
    .filter(([name]) => !added.has(name))
    .map(([name, value]) => [`listeners.${name}`, value] as const)
  return Object.fromEntries(
    [...keys, ...listeners].map(([key, value]) => [key, digestOf(JSON.stringify(value) ?? '', salt)]),
  )
}

/** The answer of one of several processes, with digests of what the file says: each process has but a part of some bounds. */
export function withDigestsOf(config: Config, answer: JsonObject, salt: unknown): JsonObject {
  if (typeof salt !== 'string') return answer
  const servers = plannedIn(answer).servers.map(server => {
    const spec = config.upstreams[server.name]
    if (spec === undefined) return server
    return { ...server, digest: serverDigest(spec, salt), settings: digestOf(JSON.stringify(spec), salt) }
  })
  return { ...answer, servers, settings: settingsOf(config, salt) }
}

/** Digest of what a server is. */
export function serverDigest(spec: UpstreamConfig, salt: string): string {
  return digestOf(serverFingerprint(spec), salt)
}

function digestOf(text: string, salt: string): string {
  return createHmac('sha256', salt).update(text).digest('hex')
}

/** Answers the verb `plan.present`. */
export function present(generation: Described, { salt }: JsonObject): Promise<Planned> {
  if (typeof salt === 'string' && salt.length > 0) return plannedOf(generation, salt)
  throw gatewayError('GW_VERB_PARAMS', { verb: 'plan.present', why: '"salt" must be a text' })
}

/** A server that stands in for one that runs elsewhere: it lists the same tools, and does nothing. */
export function standIn(
  spec: UpstreamConfig,
  { name }: UpstreamContext,
  tools: readonly JsonObject[],
): Upstream {
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
        return Promise.resolve({ error: rpcError(RPC.methodNotFound, `${method} is not made for a plan`) })
      const list = kind === 'tools' ? tools : []
      return Promise.resolve({ result: Payload.of({ [LISTS[kind].member]: list }) })
    },
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  }
}

/** Reads what the verb answered. */
export function plannedIn(answer: JsonObject): Planned {
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
  return {
    servers: list(answer.servers) as PlannedServer[],
    tools: list(answer.tools) as PlannedTool[],
    settings: (isObject(answer.settings) ? answer.settings : {}) as Planned['settings'],
    recent: list(answer.recent) as RecentCall[],
  }
}
