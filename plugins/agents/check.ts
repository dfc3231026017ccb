import { isKnown, listAt, mapAt, textAt, valueAt, type Report } from '../../src/plugin.ts'

/** Agents that are spoken of must be there, and whatever comes from a file must be let in. */
export function check(config: unknown, report: Report): void {
  if (valueAt(config, 'agents') === undefined) return
  const list = mapAt(config, 'agents', 'list')
  const used = listAt(config, 'agents', 'registry', 'use').filter(id => typeof id === 'string')
  const agents = { what: 'agent', names: [...Object.keys(list), ...used] }
  checkRegistry(config, list, report)
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
