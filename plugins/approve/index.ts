import type { JsonObject, Plugin, PluginApi, Report } from '../../src/plugin.ts'
import { defineFindings, createActiveGetter, readList, parseDuration, readValue } from '../../src/plugin.ts'
import type { ApproveConfig, OpenCall } from './approver.ts'
import { Approver, WaitingCalls } from './approver.ts'
import { summarizeArguments, writeArguments } from './format-arguments.ts'
import { ApprovalJournal } from './unfinished-calls.ts'
import { Webhook } from './webhook.ts'

/** Upper bound for `ttl`: clients do not wait longer. */
const MAX_TTL_MS = 600_000
const DURATION = /^\d{1,12}(ms|s|m|h|d)$/

/** Checks that an approval channel exists and that `ttl` is within bounds. */
export function check(config: unknown, report: Report): void {
  const approve = readValue(config, 'approve')
  if (approve === undefined) return
  const isTold = readList(approve, 'by').includes('webhook')
  const hasWebhook = readValue(approve, 'webhook') !== undefined
  if (isTold && !hasWebhook)
    report({
      pointer: '/approve/by',
      message: 'webhook is not configured',
      hint: 'add "webhook" with its url and secret',
    })
  if (hasWebhook && !isTold)
    report({
      pointer: '/approve/webhook',
      message: 'webhook is configured but not used',
      hint: 'add "webhook" to "by"',
      severity: 'warning',
      on: 'key',
    })
  if (!isInBounds(readValue(approve, 'ttl')))
    report({ pointer: '/approve/ttl', message: 'must be more than 0 and at most 10m' })
}

/** Also true for an invalid duration, which schema validation reports. */
function isInBounds(ttl: unknown): boolean {
  const isDuration = typeof ttl === 'number' || (typeof ttl === 'string' && DURATION.test(ttl))
  const ms = isDuration ? parseDuration(ttl) : 1
  return ms > 0 && ms <= MAX_TTL_MS
}

const HEALTH = {
  'approvals-waiting': {
    level: 'info',
    text: 'pending approvals: {count}',
    fix: 'gateway approvals list',
  },
} as const

const found = defineFindings(HEALTH)

/** Holds calls for approval in the client, at a terminal, or by a webhook. */
export const approve: Plugin<ApproveConfig> = {
  name: 'approve',
  claims: { section: 'approve' },
  health: HEALTH,
  check,
  commands: () => import('./commands.ts'),
  setup(api) {
    const { options, hooks, slot, state } = api
    const waiting = slot.gateway(() => new WaitingCalls())
    const journal = slot.gateway(() => new ApprovalJournal(state))
    const webhook = options.webhook === undefined ? undefined : new Webhook(options.webhook, api)
    const callback = options.webhook?.callback
    const running = slot.gateway((): ApproveConfig[] => [])
    const notifyWebhook = webhook && ((open: OpenCall) => webhook.notify(open))
    const inForce = createActiveGetter(hooks, running, options)
    const approver = new Approver(api, { waiting, journal, notifyWebhook, inForce })
    hooks.approval.tap(request => approver.decide(request))
    hooks.ready.tap(() => reportUnfinished(journal, api))
    hooks.close.tap(() => journal.forgetClaimed())
    hooks.stopping.tap(() => waiting.end('the gateway is stopping'))
    registerVerbs(api, waiting)
    if (callback !== undefined && webhook !== undefined)
      hooks.http.for(callback).tap(request => webhook.handleDecision(request, waiting))
    hooks.health.tap(findings => {
      const count = waiting.calls.length
      return count === 0 ? undefined : [...findings, found('approvals-waiting', { count })]
    })
    hooks.metrics.tap(figures => [
      ...figures,
      {
        name: 'tapgate_approvals_open',
        type: 'gauge',
        help: 'Pending approvals.',
        samples: [{ value: waiting.calls.length }],
      },
    ])
  },
}

/** Delay until reports are stored in all logs. */
const TOLD_MS = 5000

/**
 * Reports calls that were approved when a gateway crashed: their outcome is unknown, and they are never rerun. A
 * crash while reporting makes the next process report them again.
 */
function reportUnfinished(journal: ApprovalJournal, { log, record, clock }: PluginApi<ApproveConfig>): void {
  for (const { id, digest, method, name, upstream, rule } of journal.claimUnfinished()) {
    log.warn('gateway crashed during an approved call; its outcome is unknown', { id, method, name, upstream })
    const fields = { id, digest, rule, tool: name, upstream }
    record({ kind: 'permission', name: method, outcome: 'approved_outcome_unknown', fields })
  }
  clock.after(TOLD_MS, () => journal.forgetClaimed())
}

function registerVerbs({ hooks }: PluginApi<ApproveConfig>, waiting: WaitingCalls): void {
  const decide = (id: unknown, outcome: 'approved' | 'denied'): JsonObject => ({
    decided: waiting.decide(String(id), { outcome, by: 'owner' }) ? 1 : 0,
  })
  hooks.control.for('approvals.list').tap({ readOnly: true }, () => ({ approvals: waiting.calls.map(formatRow) }))
  hooks.control.for('approvals.show').tap({ readOnly: true }, ({ id }) => {
    const calls = waiting.calls.filter(call => call.id === id)
    return { approvals: calls.map(call => ({ ...formatRow(call), arguments: writeArguments(call.request) })) }
  })
  hooks.control.for('approvals.approve').tap(({ id }) => decide(id, 'approved'))
  hooks.control.for('approvals.deny').tap(({ id }) => decide(id, 'denied'))
}

function formatRow({ id, digest, request, since, until }: OpenCall): Record<string, unknown> {
  const { call, name, rule } = request
  const { issuer, subject } = call.exchange.principal
  return {
    id,
    digest,
    name,
    rule,
    method: call.method,
    upstream: call.upstream,
    issuer,
    subject,
    arguments: summarizeArguments(request),
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
  }
}
