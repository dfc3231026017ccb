import { isKnown, listAt, mapAt, textAt, valueAt, type Report } from '../../src/plugin.ts'

/** Agents that are spoken of must be there, and whatever comes from a file must be let in. */
export function check(config: unknown, report: Report): void {
  if (valueAt(config, 'agents') === undefined) return
  const list = mapAt(config, 'agents', 'list')
  const used = listAt(config, 'agents', 'registry', 'use').filter(id => typeof id === 'string')
  const agents = { what: 'agent', names: [...Object.keys(list), ...used] }
  checkRegistry(config, list, report)
  checkSandboxes(config, list, report)
  if (agents.names.length === 0)
    report({
      pointer: '/agents',
      message: 'no agents: nobody can be given a task',
      hint: 'add one under "agents.list"',
      severity: 'warning',
      on: 'key',
    })
  listAt(config, 'agents', 'routing', 'default').forEach((id, i) =>
    isKnown(id, agents, `/agents/routing/default/${i}`, report),
  )
  listAt(config, 'agents', 'routing', 'rules').forEach((rule, i) =>
    listAt(rule, 'prefer').forEach((id, j) =>
      isKnown(id, agents, `/agents/routing/rules/${i}/prefer/${j}`, report),
    ),
  )
}

/** Points at agents that are to call back from a sandbox without a network: the gateway cannot be reached from there. */
function checkSandboxes(config: unknown, list: Readonly<Record<string, unknown>>, report: Report): void {
  const defaults = valueAt(config, 'agents', 'defaults')
  for (const [id, agent] of Object.entries(list)) {
    const of = (...keys: string[]): unknown => valueAt(agent, ...keys) ?? valueAt(defaults, ...keys)
    const callback = of('callback')
    if (of('sandbox') === undefined || of('sandbox', 'network') === true) continue
    if (callback === undefined || callback === false) continue
    report({
      pointer: `/agents/list/${id}`,
      message: 'cannot call back from a sandbox without a network',
      hint: 'set "network: true" in its sandbox, which its model needs too, or leave "callback" out',
      severity: 'warning',
      on: 'key',
    })
  }
}

function checkRegistry(config: unknown, list: Readonly<Record<string, unknown>>, report: Report): void {
  if (textAt(config, 'agents', 'registry', 'file') === undefined) return
  if (valueAt(config, 'agents', 'commands') === undefined)
    report({
      pointer: '/agents/registry',
      message: 'nothing of a registry file runs without "agents.commands"',
      hint: 'name the programs that may run, as globs of their real paths',
      on: 'key',
    })
  listAt(config, 'agents', 'registry', 'use').forEach((id, i) => {
    if (typeof id !== 'string' || !Object.hasOwn(list, id)) return
    report({
      pointer: `/agents/registry/use/${i}`,
      message: `agent "${id}" is in "list" already`,
      hint: 'take it out of one of them',
    })
  })
}
