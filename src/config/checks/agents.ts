import { listAt, mapAt, textAt, valueAt } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import { didYouMean } from '../../util/suggest.ts'
import type { Report } from '../problem.ts'

/** Names that the agents have for themselves. */
const OWN = [
  ['upstreams', 'agents'],
  ['listeners', 'agents-callback'],
] as const

/** Agents that are spoken of must be there, and whatever comes from a file must be let in. */
export function checkAgents(config: unknown, report: Report): void {
  if (valueAt(config, 'agents') === undefined) return
  checkOwnNames(config, report)
  const list = mapAt(config, 'agents', 'list')
  const used = listAt(config, 'agents', 'registry', 'use').filter(id => typeof id === 'string')
  const known = [...Object.keys(list), ...used]
  checkRegistry(config, list, report)
  if (known.length === 0)
    report({
      pointer: '/agents',
      message: 'no agents: nobody can be given a task',
      hint: 'add one under "agents.list"',
      severity: 'warning',
      on: 'key',
    })
  listAt(config, 'agents', 'routing', 'default').forEach((id, i) =>
    checkId(id, known, `/agents/routing/default/${i}`, report),
  )
  listAt(config, 'agents', 'routing', 'rules').forEach((rule, i) =>
    listAt(rule, 'prefer').forEach((id, j) =>
      checkId(id, known, `/agents/routing/rules/${i}/prefer/${j}`, report),
    ),
  )
}

function checkId(id: unknown, known: readonly string[], pointer: string, report: Report): void {
  if (typeof id !== 'string' || known.includes(id)) return
  report({ pointer, message: `there is no agent "${id}"`, hint: didYouMean(id, known) })
}

function checkOwnNames(config: unknown, report: Report): void {
  for (const [section, name] of OWN) {
    if (!Object.hasOwn(mapAt(config, section), name)) continue
    report({
      pointer: pointerTo(`/${section}`, name),
      message: `"${name}" is the name of what "agents" adds itself`,
      hint: 'choose another name',
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
