import type { KnownTools, Upstream, UpstreamMemory } from '../api/index.ts'
import { checkUnmatched } from '../config/checks/tool-names.ts'
import type { Config } from '../config/index.ts'
import type { Problem } from '../config/problem.ts'
import { locateProblem } from '../config/problem.ts'
import { createOnlooker } from '../core/session.ts'
import { gatewayError } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import { LISTS } from '../protocol/methods.ts'
import type { Finding } from '../util/finding.ts'
import { suggestHint } from '../util/suggest.ts'
import { readOwnPackage } from '../util/version.ts'
import type { Generation } from './generation.ts'

const KINDS = ['tools', 'prompts'] as const
type ListsByKind = Partial<Record<(typeof KINDS)[number], readonly JsonObject[]>>

/** Finds configured patterns without a match among known entries; with `fetchLists`, queries running servers. */
export async function findUnmatchedPatterns(
  { graph, loaded, plugins }: Generation,
  fetchLists: boolean,
): Promise<readonly Problem[]> {
  const lists = new Map<string, ListsByKind>()
  for (const [name, { upstream }] of graph.upstreams) {
    if (fetchLists && upstream.state === 'ready') lists.set(name, await fetchUpstreamLists(graph, name))
    else if (upstream.memory !== undefined) lists.set(name, readSavedLists(upstream.memory))
  }
  const problems: Problem[] = []
  const report = (finding: Finding): void => void problems.push(locateProblem(loaded, finding))
  const knownNames = new Map([...lists].map(([name, own]) => [name, listPatternNames(own)]))
  checkUnmatched(loaded.config, knownNames, report)
  const tools = listKnownTools(loaded.config, lists)
  for (const { plugin } of plugins) plugin.checkTools?.(loaded.config, tools, report)
  return problems
}

function listPatternNames(lists: ListsByKind): Partial<Record<(typeof KINDS)[number], readonly string[]>> {
  return Object.fromEntries(Object.entries(lists).map(([kind, list]) => [kind, list.map(({ name }) => String(name))]))
}

function listKnownTools(
  { upstreams }: Generation['loaded']['config'],
  lists: ReadonlyMap<string, ListsByKind>,
): KnownTools {
  return new Map(
    [...lists].flatMap(([upstream, { tools }]) => {
      if (tools === undefined) return []
      const { prefix = `${upstream}__`, tools: filter } = upstreams[upstream] ?? {}
      return [
        [
          upstream,
          tools.map(value => {
            const original = String(value.name)
            return { original, exposed: prefix + (filter?.rename?.[original] ?? original), value }
          }),
        ] as const,
      ]
    }),
  )
}

async function fetchUpstreamLists({ catalog }: Generation['graph'], name: Upstream['name']): Promise<ListsByKind> {
  const session = createOnlooker(readOwnPackage())
  const lists: ListsByKind = {}
  for (const kind of KINDS) {
    const part = await catalog.getList(name, kind, session).catch(() => undefined)
    if (part !== undefined) lists[kind] = part.entries.map(({ value }) => value)
  }
  return lists
}

/** Reads lists saved by an earlier run, without requests to the server. */
function readSavedLists(memory: UpstreamMemory): ListsByKind {
  const saved = memory.read('lists')
  const lists: ListsByKind = {}
  for (const list of Array.isArray(saved) ? saved : []) {
    const { method, text } = isObject(list) ? list : {}
    const kind = KINDS.find(one => LISTS[one].method === method)
    if (kind === undefined || typeof text !== 'string') continue
    lists[kind] = [...(lists[kind] ?? []), ...parseEntries(text, LISTS[kind].member)]
  }
  return lists
}

function parseEntries(text: string, member: string): JsonObject[] {
  try {
    const entries = (JSON.parse(text) as Record<string, unknown>)[member]
    return (Array.isArray(entries) ? entries : []).flatMap((entry: unknown) =>
      isObject(entry) && typeof entry.name === 'string' ? [entry] : [],
    )
  } catch {
    return []
  }
}

/** Rejects an unknown profile name. @throws GatewayError GW_PROFILE_UNKNOWN */
export function checkProfile(profile: string, { profiles = {} }: Pick<Config, 'profiles'>): void {
  if (Object.hasOwn(profiles, profile)) return
  throw gatewayError('GW_PROFILE_UNKNOWN', { profile, meant: suggestHint(profile, Object.keys(profiles)) })
}
