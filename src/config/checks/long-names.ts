import { globs } from '../../util/globs.ts'
import { listAt, mapAt, textAt } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import type { Finding } from '../problem.ts'

/** What the models behind most clients take as the name of a tool. */
const LONGEST = 64
/** More are counted. */
const MOST = 20

/** Tools that clients will see under a name too long for them; `known` has the names that each server uses itself. */
export function checkLongNames(
  config: unknown,
  known: ReadonlyMap<string, { readonly tools?: readonly string[] }>,
  report: (finding: Finding) => void,
): void {
  let count = 0
  for (const [upstream, { tools = [] }] of known)
    for (const tool of tools) {
      const name = exposedName(config, upstream, tool)
      if (name === undefined || name.length <= LONGEST || ++count > MOST) continue
      report(finding(upstream, tool, name))
    }
}

function finding(upstream: string, tool: string, name: string): Finding {
  return {
    pointer: pointerTo('/upstreams', upstream),
    message: `tool "${tool.slice(0, 200)}" has a name of ${name.length} characters for clients, and many take ${LONGEST} at most`,
    hint: `set a shorter upstreams.${upstream}.prefix, or upstreams.${upstream}.tools.rename`,
    severity: 'warning',
  }
}

/** The name that clients see; undefined where a filter hides the tool. */
function exposedName(config: unknown, upstream: string, tool: string): string | undefined {
  const spec = mapAt(config, 'upstreams', upstream)
  const filter = mapAt(spec, 'tools')
  if (isHidden(filter, tool)) return undefined
  const name = (textAt(spec, 'prefix') ?? `${upstream}__`) + (textAt(filter, 'rename', tool) ?? tool)
  const all = mapAt(config, 'filters', 'tools')
  return isHidden(all, name) ? undefined : (textAt(all, 'rename', name) ?? name)
}

function isHidden(filter: unknown, name: string): boolean {
  const fits = (glob: unknown): boolean => globs(String(glob))(name)
  const allow = listAt(filter, 'allow')
  return (allow.length > 0 && !allow.some(fits)) || listAt(filter, 'deny').some(fits)
}
