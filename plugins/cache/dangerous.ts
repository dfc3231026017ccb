import { isObject, type Log, type Payload, type Upstream } from '../../src/plugin.ts'
import type { Rules } from './policy.ts'

const MAX_SAID = 1000

/** Says, once for each tool, that the answers of one are kept although its server says that it changes things. */
export function dangerous(log: Log): (upstream: Upstream, rules: Rules, tools: Payload) => void {
  const said = new Set<string>()
  return ({ name: upstream }, rules, payload) => {
    const { tools } = payload.value()
    for (const tool of Array.isArray(tools) ? (tools as unknown[]) : []) {
      if (!isObject(tool) || !changesThings(tool.annotations)) continue
      const rule = rules({ method: 'tools/call', params: { name: tool.name } })
      const key = JSON.stringify([upstream, tool.name])
      if (rule?.policy === undefined || said.has(key) || said.size >= MAX_SAID) continue
      said.add(key)
      log.warn(
        `answers of tool "${String(tool.name)}" are kept, but its server says that it changes things`,
        {
          upstream,
          hint: 'take it out of "cache.tools", or be sure that calling it once is as good as calling it again',
        },
      )
    }
  }
}

function changesThings(annotations: unknown): boolean {
  return isObject(annotations) && (annotations.destructiveHint === true || annotations.readOnlyHint === false)
}
