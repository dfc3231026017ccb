import type { Upstream, UpstreamMemory } from '../api/index.ts'
import { checkLongNames } from '../config/checks/tool-names.ts'
import { checkUnmatched } from '../config/checks/tool-names.ts'
import { type Problem, problemIn } from '../config/problem.ts'
import type { Finding } from '../util/finding.ts'
import { onlooker } from '../core/session.ts'
import { isObject } from '../protocol/json/json.ts'
import { LISTS } from '../protocol/methods.ts'
import { ownPackage } from '../util/version.ts'
import type { Generation } from './generation.ts'

const KINDS = ['tools', 'prompts'] as const
type Names = Partial<Record<(typeof KINDS)[number], readonly string[]>>

/** Patterns of the configuration that match nothing of what is known by now, and names too long for clients; with `asks`, of servers that run. */
export async function unmatchedPatterns(
  { graph, loaded }: Generation,
  asks: boolean,
): Promise<readonly Problem[]> {
  const known = new Map<string, Names>()
  for (const [name, { upstream }] of graph.upstreams) {
    if (asks && upstream.state === 'ready') known.set(name, await listed(graph, name))
    else if (upstream.memory !== undefined) known.set(name, saved(upstream.memory))
  }
  const problems: Problem[] = []
  const report = (finding: Finding): void => void problems.push(problemIn(loaded, finding))
  checkUnmatched(loaded.config, known, report)
  checkLongNames(loaded.config, known, report)
  return problems
}

async function listed({ catalog }: Generation['graph'], name: Upstream['name']): Promise<Names> {
  const session = onlooker(ownPackage())
  const names: Names = {}
  for (const kind of KINDS) {
    const part = await catalog.part(name, kind, session).catch(() => undefined)
    if (part !== undefined) names[kind] = part.entries.map(({ original }) => original)
  }
  return names
}

/** From what an earlier run has saved, without a word to the server. */
function saved(memory: UpstreamMemory): Names {
  const lists = memory.read('lists')
  const names: Names = {}
  for (const list of Array.isArray(lists) ? lists : []) {
    const { method, text } = isObject(list) ? list : {}
    const kind = KINDS.find(one => LISTS[one].method === method)
    if (kind === undefined || typeof text !== 'string') continue
    names[kind] = [...(names[kind] ?? []), ...namesIn(text, LISTS[kind].member)]
  }
  return names
}

function namesIn(text: string, member: string): string[] {
  try {
    const entries = (JSON.parse(text) as Record<string, unknown>)[member]
    return (Array.isArray(entries) ? entries : []).flatMap((entry: unknown) =>
      isObject(entry) && typeof entry.name === 'string' ? [entry.name] : [],
    )
  } catch {
    return []
  }
}
