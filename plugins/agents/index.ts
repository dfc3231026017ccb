import type { Plugin, Report } from '../../src/plugin.ts'
import { checkKnownName, readList, readMap, readValue } from '../../src/plugin.ts'
import { ERRORS } from './errors.ts'
import type { AgentsConfig } from './settings.ts'

/** Provides coding agents (Agent Client Protocol) as tools and tasks. Loaded only if configured. */
export const agents: Plugin<AgentsConfig> = {
  name: 'agents',
  claims: { section: 'agents', adds: { upstreams: ['agents'], listeners: ['agents-callback'] } },
  check,
  errors: ERRORS,
  commands: () => import('./commands.ts'),
  async setup(api) {
    const { setUp } = await import('./setup.ts')
    setUp(api)
  },
}

/** Checks that referenced agents exist. */
function check(config: unknown, report: Report): void {
  if (readValue(config, 'agents') === undefined) return
  const list = readMap(config, 'agents', 'list')
  const agents = { what: 'agent', names: Object.keys(list) }
  checkSandboxes(config, list, report)
  if (agents.names.length === 0)
    report({
      pointer: '/agents',
      message: 'no agents configured',
      hint: 'add one under "agents.list"',
      severity: 'warning',
      on: 'key',
    })
  readList(config, 'agents', 'routing', 'default').forEach((id, i) =>
    checkKnownName(id, agents, `/agents/routing/default/${i}`, report),
  )
  readList(config, 'agents', 'routing', 'rules').forEach((rule, i) =>
    readList(rule, 'prefer').forEach((id, j) =>
      checkKnownName(id, agents, `/agents/routing/rules/${i}/prefer/${j}`, report),
    ),
  )
}

/** Warns about callbacks from a sandbox without network access: the gateway would be unreachable. */
function checkSandboxes(config: unknown, list: Readonly<Record<string, unknown>>, report: Report): void {
  const defaults = readValue(config, 'agents', 'defaults')
  for (const [id, agent] of Object.entries(list)) {
    const readPath = (...keys: string[]): unknown => readValue(agent, ...keys) ?? readValue(defaults, ...keys)
    const callback = readPath('callback')
    if (readPath('sandbox') === undefined || readPath('sandbox', 'network') === true) continue
    if (callback === undefined || callback === false) continue
    report({
      pointer: `/agents/list/${id}`,
      message: 'callbacks do not work from a sandbox without network access',
      hint: 'set "network: true" in its sandbox, or remove "callback"',
      severity: 'warning',
      on: 'key',
    })
  }
}
