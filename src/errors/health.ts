import { fillTemplate } from './errors.ts'

/** Levels of findings; a health report has the worst of its findings. */
export const LEVELS = ['ok', 'info', 'warning', 'error'] as const
/** Finding or report level. */
export type HealthLevel = (typeof LEVELS)[number]

/** One entry of a table of findings. Codes are stable, as monitors read them. */
export interface HealthEntry {
  readonly level: Exclude<HealthLevel, 'ok'>
  /** `{name}` is filled from the fields given. */
  readonly text: string
  /** Command or advice that fixes it. */
  readonly fix: string
}

/** Entries by code: lower case, with hyphens. */
export type HealthTable = Readonly<Record<string, HealthEntry>>

/** A condition that the owner should know about. */
export interface HealthFinding {
  readonly code: string
  readonly level: Exclude<HealthLevel, 'ok'>
  /** One line for the owner; it may quote a server. */
  readonly summary: string
  /** Cause details. */
  readonly detail?: string
  readonly fix: string
  /** Its upstream: the finding is hidden from callers that may not see it. */
  readonly upstream?: string
}

/** Overall level, and findings, the worst first. */
export interface Health {
  readonly level: HealthLevel
  readonly findings: readonly HealthFinding[]
}

/** Findings of the gateway; plugins define their own as `health`. */
export const HEALTH = {
  'upstream-failed': {
    level: 'error',
    text: '{upstream} is not running: {why}',
    fix: 'gateway logs {upstream} shows its output; then: gateway restart {upstream}',
  },
  'upstream-needs-login': {
    level: 'warning',
    text: '{upstream} needs a login',
    fix: 'Log in to it; then: gateway restart {upstream}',
  },
  'upstream-stopped': {
    level: 'info',
    text: '{upstream} was stopped',
    fix: 'gateway start {upstream}',
  },
  'upstream-degraded': {
    level: 'warning',
    text: '{upstream} works, but: {why}',
    fix: 'gateway logs {upstream} shows its output',
  },
  'upstream-lists': {
    level: 'warning',
    text: 'lists of {upstream} are missing or outdated: {why}',
    fix: 'gateway restart {upstream}',
  },
  'upstream-restarts': {
    level: 'warning',
    text: '{upstream} was restarted {count} times, most recently because {why}',
    fix: 'gateway logs {upstream} shows its output; then: gateway restart {upstream}',
  },
  'no-upstreams': {
    level: 'info',
    text: 'the configuration has no server',
    fix: 'Add one under "upstreams" in {config}',
  },
  'config-refused': {
    level: 'error',
    text: 'the changed configuration was rejected, the previous one remains active: {why}',
    fix: 'gateway validate shows what is wrong; then: gateway reload',
  },
  'plugin-failed': {
    level: 'warning',
    text: 'plugin {plugin} failed in hook {hook}: {why}',
    fix: 'Fix the plugin; then: gateway reload',
  },
  'tools-hidden': {
    level: 'warning',
    text: 'clients see none of the {count} known tools: hidden by {plugins}',
    fix: 'gateway explain {tool} shows why',
  },
  'plugin-health': {
    level: 'warning',
    text: 'plugin {plugin} failed to report its health: {why}',
    fix: 'Report it to the author of the plugin',
  },
  stopping: { level: 'info', text: 'the gateway is stopping', fix: 'Wait, then: gateway up' },
  'certificate-ends': {
    level: 'warning',
    text: 'the certificate of listener {listener} expires {when}',
    fix: 'Replace it; then: gateway reload',
  },
  'certificate-ended': {
    level: 'error',
    text: 'the certificate of listener {listener} expired {when}',
    fix: 'Replace it; then: gateway reload',
  },
} as const satisfies HealthTable

type HealthCode = keyof typeof HEALTH

/** Fields that fill a row. `upstream` and `detail` stay with the finding. */
export interface HealthFields {
  readonly upstream?: string
  readonly detail?: string | undefined
  readonly [field: string]: string | number | undefined
}

/**
 * Makes the findings of a plugin, from the table that it has as `health`.
 *
 * ```ts
 * const found = defineFindings({ 'budget-spent': { level: 'warning', text: 'the budget is spent', fix: 'Wait for tomorrow' } })
 * hooks.health.tap(findings => (isSpent() ? [...findings, found('budget-spent')] : undefined))
 * ```
 */
export function defineFindings<T extends HealthTable>(
  table: T,
): (code: keyof T & string, fields?: HealthFields) => HealthFinding {
  return (code, fields = {}) => {
    const { level, text, fix } = table[code] ?? UNKNOWN
    const { upstream, detail } = fields
    return {
      code,
      level,
      summary: fillTemplate(text, fields),
      ...(detail === undefined || detail === '' ? {} : { detail }),
      fix: fillTemplate(fix, fields),
      ...(upstream === undefined ? {} : { upstream }),
    }
  }
}

/** `finding('upstream-failed', { upstream, why })` */
export const finding: (code: HealthCode, fields?: HealthFields) => HealthFinding = defineFindings(HEALTH)

const UNKNOWN: HealthEntry = { level: 'warning', text: '{detail}', fix: '' }

/** Summarizes findings: sorted, without duplicates. */
export function summarizeFindings(findings: readonly HealthFinding[]): Health {
  const unique = new Map<string, HealthFinding>()
  for (const one of findings) {
    const key = JSON.stringify([one.code, one.upstream, one.upstream === undefined ? one.summary : ''])
    const known = unique.get(key)
    if (known === undefined || getSeverity(one) > getSeverity(known)) unique.set(key, one)
  }
  const sorted = [...unique.values()].sort((a, b) => getSeverity(b) - getSeverity(a))
  return { level: sorted[0]?.level ?? 'ok', findings: sorted }
}

function getSeverity({ level }: HealthFinding): number {
  return LEVELS.indexOf(level)
}
