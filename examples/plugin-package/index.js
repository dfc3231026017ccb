// #region errors
import { BoundedMap, suggestName, defineErrors, principalKey } from 'tapgate/plugin'

const ERRORS = {
  BUDGET_SPENT: {
    text: '{caller} has used all {calls} calls',
    hint: 'Raise plugins.budget.options.calls, or restart the gateway.',
    rpc: -31001,
  },
}
const budgetError = defineErrors(ERRORS)
// #endregion errors

// #region schema
const schema = {
  type: 'object',
  additionalProperties: false,
  required: ['calls'],
  properties: {
    calls: { type: 'integer', minimum: 1, description: 'Tool calls that each caller may make.' },
    free: { type: 'array', items: { type: 'string' }, default: [], description: 'Tools that cost nothing.' },
  },
}
// #endregion schema

// #region check
/** Reports free tools of unknown servers. */
function check(config, report, { options, pointer }) {
  const servers = Object.keys(config.upstreams)
  for (const [index, tool] of (options.free ?? []).entries()) {
    const [server] = tool.split('__')
    if (servers.includes(server)) continue
    const message = `no server named "${server}"`
    report({ pointer: `${pointer}/free/${index}`, message, hint: suggestName(server, servers) })
  }
}
// #endregion check

// #region plugin
/** Gives each caller a budget of tool calls. */
export default {
  name: 'budget',
  schema,
  errors: ERRORS,
  check,
  commands: () => import('./commands.js'),
  setup({ options, hooks, slot }) {
    const free = new Set(options.free)
    const made = slot.gateway(() => new BoundedMap({ max: 10_000 })) // a reload keeps it

    hooks.request.tap({ methods: ['tools/call'], stage: 'limit' }, ({ params, principal }) => {
      if (free.has(params?.name)) return
      const caller = principalKey(principal)
      const calls = made.get(caller) ?? 0
      if (calls >= options.calls) throw budgetError('BUDGET_SPENT', { caller: principal.subject, calls })
      made.set(caller, calls + 1)
    })
    hooks.control.for('budget.show').tap(() => ({ callers: made.size, calls: options.calls }))
  },
}
// #endregion plugin
