import type { CommandFinding } from '../../api/command.ts'
import type { LoadedConfig } from '../../config/index.ts'
import type { HealthFinding, HealthTable } from '../../errors/health.ts'
import { defineFindings } from '../../errors/health.ts'
import type { Terminal } from '../output/terminal.ts'
import type { QueryFlags } from '../local/gateway-handle.ts'

export interface DoctorContext {
  readonly flags: QueryFlags
  readonly terminal: Terminal
  /** Configuration file, valid or not. */
  readonly file: string | undefined
  /** Undefined if the configuration is invalid. */
  readonly source: LoadedConfig | undefined
}

/** Findings of `gateway doctor`, in addition to those of a running gateway. */
export const DOCTOR_FINDINGS = {
  'config-missing': {
    level: 'error',
    text: '{why}',
    fix: 'Create one with gateway init, or pass one with --config <file>',
  },
  'config-invalid': { level: 'error', text: '{place} {why}', fix: '{hint}' },
  'config-doubtful': { level: 'warning', text: '{place} {why}', fix: '{hint}' },
  'plugin-broken': { level: 'error', text: '{why}', fix: '{hint}' },
  'path-missing': { level: 'error', text: '{place} {why}', fix: '{hint}' },
  'config-writable': {
    level: 'error',
    text: '{path} is writable by other users, who could run programs through it',
    fix: 'Run gateway doctor --fix, or: chmod go-w {path}',
  },
  'secret-readable': {
    level: 'warning',
    text: '{path} contains a secret and is readable by other users',
    fix: 'Run gateway doctor --fix, or: chmod 600 {path}',
  },
  'client-broken': {
    level: 'error',
    text: 'the settings of {client} cannot be read: {path}: {why}',
    fix: 'Fix {path}',
  },
  'client-command-gone': {
    level: 'error',
    text: '{client} starts {command}, which no longer exists',
    fix: 'Run gateway connect {name}',
  },
  'client-config-gone': {
    level: 'error',
    text: '{client} uses the gateway of {config}, which no longer exists',
    fix: 'Run gateway disconnect {name}, or gateway connect {name} for another one',
  },
  'client-own-servers': {
    level: 'info',
    text: '{client} also starts {servers} itself',
    fix: 'Remove them from {path}, or each server runs twice',
  },
  'card-differs': {
    level: 'info',
    text: 'the server card of {upstream} has another address, transport or protocol version: {remotes}',
    fix: 'Check "url" and "type" of upstreams.{upstream}',
  },
  'not-running': { level: 'info', text: 'no gateway is running with {config}', fix: 'gateway up' },
  'port-taken': {
    level: 'error',
    text: 'port {port} of listener {listener} is used by another program',
    fix: 'Stop that program, or set another port in listeners.{listener}.port',
  },
  'gateway-silent': {
    level: 'error',
    text: 'the running gateway does not answer: {why}',
    fix: 'Stop its process, then run gateway up',
  },
} as const satisfies HealthTable

/** Safe fix for a finding. */
export interface Repair {
  /** Description, such as `chmod 600 /…`. */
  readonly action: string
  run(): Promise<void>
}

/** Finding with the `--fix` repair. */
export interface DoctorFinding extends HealthFinding {
  readonly repair?: Repair
  readonly location?: Pick<CommandFinding, 'file' | 'line' | 'column'>
}

export const createFinding: (
  code: keyof typeof DOCTOR_FINDINGS,
  fields?: Parameters<ReturnType<typeof defineFindings>>[1],
) => HealthFinding = defineFindings(DOCTOR_FINDINGS)
