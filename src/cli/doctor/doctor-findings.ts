import type { LoadedConfig } from '../../config/index.ts'
import type { HealthFinding, HealthTable } from '../../errors/health.ts'
import { defineFindings } from '../../errors/health.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { QueryFlags } from '../local/gateway-handle.ts'

export interface DoctorContext {
  readonly flags: QueryFlags
  readonly terminal: Terminal
  /** Node and launcher paths. */
  readonly host: Pick<Host, 'execPath' | 'argv'>
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
  'variable-missing': { level: 'error', text: '{place} {why}', fix: '{hint}' },
  'secret-missing': {
    level: 'error',
    text: '{place} {why}',
    fix: 'Write the secret to that file, readable only by you (mode 600)',
  },
  'plugin-broken': { level: 'error', text: '{why}', fix: '{hint}' },
  'program-missing': {
    level: 'error',
    text: '{upstream}: {why}',
    fix: '{hint}',
  },
  'script-missing': { level: 'error', text: '{upstream}: {why}', fix: '{hint}' },
  'directory-missing': {
    level: 'error',
    text: '{upstream}: working directory {path} does not exist',
    fix: 'Run gateway doctor --fix to create it',
  },
  'program-not-executable': {
    level: 'error',
    text: '{upstream}: {path} is not executable',
    fix: 'chmod +x {path}',
  },
  'secret-placeholder': {
    level: 'warning',
    text: '{upstream}: {place} still contains the placeholder "{value}"',
    fix: 'Set the real value, as ${file:…} or ${VARIABLE}',
  },
  'token-expired': {
    level: 'error',
    text: '{upstream}: the token in {place} expired {ago} ago',
    fix: 'Create a new token, or let the gateway log in: upstreams.{upstream}.oauth',
  },
  'port-taken': {
    level: 'error',
    text: 'listener {listener}: port {port} of {host} is in use',
    fix: 'Stop the other program, or set listeners.{listener}.port to another one (0 for any)',
  },
  'port-refused': {
    level: 'error',
    text: 'listener {listener}: permission denied for port {port}',
    fix: 'Set listeners.{listener}.port to 1024 or higher',
  },
  'address-unknown': {
    level: 'error',
    text: 'listener {listener}: {host} is not an address of this machine',
    fix: 'Set listeners.{listener}.host to 127.0.0.1 or another address of this machine',
  },
  'config-writable': {
    level: 'error',
    text: '{path} is writable by other users, who could run programs through it',
    fix: 'Run gateway doctor --fix, or: chmod go-w {path}',
  },
  'config-readable': {
    level: 'warning',
    text: '{path} contains secrets and is readable by other users',
    fix: 'Run gateway doctor --fix, or: chmod 600 {path}',
  },
  'secret-readable': {
    level: 'warning',
    text: '{path} contains a secret and is readable by other users',
    fix: 'Run gateway doctor --fix, or: chmod 600 {path}',
  },
  'state-readable': {
    level: 'warning',
    text: 'state directory {path} is accessible to other users',
    fix: 'Run gateway doctor --fix, or: chmod 700 {path}',
  },
  'state-unusable': {
    level: 'error',
    text: '{path} cannot be used: {why}',
    fix: 'Move it, or set XDG_STATE_HOME to another directory',
  },
  'socket-directory': {
    level: 'error',
    text: '{path} is accessible to other users, so no gateway opens a socket in it',
    fix: 'Run gateway doctor --fix, or: chmod 700 {path}',
  },
  'socket-stale': {
    level: 'info',
    text: 'stopped gateways left {count} in {path}',
    fix: 'Run gateway doctor --fix to remove them',
  },
  'socket-blocked': {
    level: 'error',
    text: '{path} is not a socket, so no client can attach',
    fix: 'Check the file and move it: mv {path} {path}.old',
  },
  'lock-stale': {
    level: 'warning',
    text: '{path} is the lock of a process that no longer exists',
    fix: 'Run gateway doctor --fix to remove it',
  },
  'client-broken': {
    level: 'error',
    text: 'the settings of {client} cannot be read: {path}: {why}',
    fix: 'Fix {path}, or restore it from {backup}',
  },
  'client-command-gone': {
    level: 'error',
    text: '{client} starts {command}, which no longer exists',
    fix: 'Run gateway doctor --fix to write the current path',
  },
  'client-config-gone': {
    level: 'error',
    text: '{client} uses the gateway of {config}, which no longer exists',
    fix: 'Run gateway doctor --fix to remove the entry, or gateway connect {name} to write a new one',
  },
  'client-entry-gone': {
    level: 'info',
    text: '{client} no longer has the entry written by gateway connect',
    fix: 'Run gateway connect {name} to write it again, or gateway doctor --fix to forget it',
  },
  'client-entry-changed': {
    level: 'info',
    text: 'the entry of {client} was changed after gateway connect',
    fix: 'Nothing to do if this was intended; otherwise delete it in {path} and run gateway connect {name}',
  },
  'client-own-servers': {
    level: 'info',
    text: '{client} also starts {servers} itself',
    fix: 'Remove them from {path}, or each server runs twice',
  },
  'no-clients': {
    level: 'info',
    text: 'no client is connected; found {clients}',
    fix: 'Run gateway connect --all',
  },
  'not-running': { level: 'info', text: 'no gateway is running with {config}', fix: 'gateway up' },
  'gateway-silent': {
    level: 'error',
    text: 'the running gateway does not answer: {why}',
    fix: 'Stop its process, then run gateway up',
  },
  'gateways-many': {
    level: 'warning',
    text: '{count} gateways are running with {config}',
    fix: 'List them with gateway ps --all; keep one, unless they are replicas',
  },
  'version-differs': {
    level: 'warning',
    text: 'gateway {theirs} is running, but this is {own}',
    fix: 'Run gateway down, then gateway up',
  },
  'names-withheld': {
    level: 'warning',
    text: '{count} names of {upstream} are hidden because another server has them: {names}',
    fix: 'Set upstreams.{upstream}.prefix to another value',
  },
  'tools-many': {
    level: 'info',
    text: 'clients see {count} tools; some accept at most {limit}',
    fix: 'Show each client fewer tools: filters.tools, or profiles',
  },
  'tools-heavy': {
    level: 'info',
    text: 'the tool list uses about {tokens} tokens in each conversation',
    fix: 'Show each client fewer tools: filters.tools, or profiles',
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
}

export const createFinding: (
  code: keyof typeof DOCTOR_FINDINGS,
  fields?: Parameters<ReturnType<typeof defineFindings>>[1],
) => HealthFinding = defineFindings(DOCTOR_FINDINGS)
