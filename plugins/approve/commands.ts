import type { CommandCall, JsonObject, PluginCommands } from '../../src/plugin.ts'
import { isObject, toOneLine } from '../../src/plugin.ts'

/** Exit code if no such call is pending. */
const NONE = 5

const ID = { id: { required: true, description: 'Id of the pending call, as listed.' } }

export const commands: PluginCommands = {
  'approvals list': {
    summary: 'List pending approvals of a running gateway.',
    examples: ['gateway approvals list', 'gateway approvals list --json'],
    gateway: 'running',
    async run(call) {
      const listed = await call.withGateway('running', ask => ask('approvals.list'))
      call.print(listed, () => formatApprovals(listed, call))
    },
  },
  'approvals show': {
    summary: 'Show a pending call with all arguments.',
    description: 'Exit codes: 0 printed, 5 no such pending call.',
    examples: ['gateway approvals show 5f0c9a1e7b32d846'],
    args: ID,
    gateway: 'running',
    run: showApprovals,
  },
  'approvals approve': {
    summary: 'Approve a pending call once.',
    description: 'Exit codes: 0 approved, 5 no such pending call.',
    examples: ['gateway approvals approve 5f0c9a1e7b32d846'],
    args: ID,
    gateway: 'running',
    run: call => sendDecision(call, 'approvals.approve', 'approved'),
  },
  'approvals deny': {
    summary: 'Deny a pending call.',
    description: 'Exit codes: 0 denied, 5 no such pending call.',
    examples: ['gateway approvals deny 5f0c9a1e7b32d846'],
    args: ID,
    gateway: 'running',
    run: call => sendDecision(call, 'approvals.deny', 'denied'),
  },
}

async function showApprovals(call: CommandCall): Promise<number> {
  const { approvals } = await call.withGateway('running', ask => ask('approvals.show', { id: call.args.id }))
  const row = (Array.isArray(approvals) ? approvals : []).find(isObject)
  call.print(row ?? {}, () =>
    row === undefined
      ? ['no such pending call']
      : Object.entries(row).map(([name, value]) => `${name}: ${toOneLine(String(value))}`),
  )
  return row === undefined ? NONE : 0
}

async function sendDecision(call: CommandCall, verb: string, message: string): Promise<number> {
  const { id } = call.args
  const result = await call.withGateway('running', ask => ask(verb, { id }))
  const isDecided = Number(result.decided) > 0
  call.print(result, () => [isDecided ? message : 'no such pending call'])
  return isDecided ? 0 : NONE
}

function formatApprovals({ approvals }: JsonObject, { table }: CommandCall): string[] {
  const rows = (Array.isArray(approvals) ? approvals : []).filter(isObject)
  if (rows.length === 0) return ['no pending approvals']
  const cell = (value: unknown): string => toOneLine(typeof value === 'string' ? value : '')
  return table([
    ['ID', 'UNTIL', 'CALLER', 'RULE', 'CALL'],
    ...rows.map(row => [
      cell(row.id),
      cell(row.until),
      cell(row.subject),
      cell(row.rule),
      `${cell(row.name)} ${cell(row.arguments)}`,
    ]),
  ])
}
