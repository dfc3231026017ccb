import type { LoadedConfig } from '../../config/index.ts'
import type { HealthFinding, HealthTable } from '../../errors/health.ts'
import { defineFindings } from '../../errors/health.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { QueryFlags } from '../local/gateway-handle.ts'

/** All that checks look at. */
export interface DoctorContext {
  readonly flags: QueryFlags
  readonly terminal: Terminal
  /** Program and launcher of this command. */
  readonly host: Pick<Host, 'execPath' | 'argv'>
  /** The configuration file, where there is one, readable or not. */
  readonly file: string | undefined
  /** Absent where it is not valid. */
  readonly source: LoadedConfig | undefined
}

/** Findings of `gateway doctor` beside those of a running gateway. */
export const DOCTOR_FINDINGS = {
  'config-missing': {
    level: 'error',
    text: '{why}',
    fix: 'gateway init writes one; --config <file> names one',
  },
  'config-invalid': { level: 'error', text: '{place} {why}', fix: '{hint}' },
  'config-doubtful': { level: 'warning', text: '{place} {why}', fix: '{hint}' },
  'variable-missing': { level: 'error', text: '{place} {why}', fix: '{hint}' },
  'secret-missing': {
    level: 'error',
    text: '{place} {why}',
    fix: 'Write the secret into that file, for yourself alone (mode 600)',
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
    text: '{upstream}: its working directory {path} does not exist',
    fix: 'gateway doctor --fix makes it',
  },
  'program-not-executable': {
    level: 'error',
    text: '{upstream}: {path} is there, and nobody may run it',
    fix: 'chmod +x {path}',
  },
  'secret-placeholder': {
    level: 'warning',
    text: '{upstream}: {place} is still the "{value}" of a manual',
    fix: 'Put the real value there, as ${file:…} or ${VARIABLE}',
  },
  'token-expired': {
    level: 'error',
    text: '{upstream}: the token in {place} has expired {ago} ago',
    fix: 'Get a new one, or let the gateway log in: upstreams.{upstream}.oauth',
  },
  'port-taken': {
    level: 'error',
    text: 'listener {listener}: another program has port {port} of {host}',
    fix: 'End that program, or set listeners.{listener}.port to another one (0 for any)',
  },
  'port-refused': {
    level: 'error',
    text: 'listener {listener}: this user may not listen on port {port}',
    fix: 'Set listeners.{listener}.port to one from 1024 on',
  },
  'address-unknown': {
    level: 'error',
    text: 'listener {listener}: {host} is no address of this machine',
    fix: 'Set listeners.{listener}.host to 127.0.0.1, or to an address that this machine has',
  },
  'config-writable': {
    level: 'error',
    text: 'others can write to {path}: they decide what the gateway runs',
    fix: 'gateway doctor --fix, or: chmod go-w {path}',
  },
  'config-readable': {
    level: 'warning',
    text: 'others can read {path}, and secrets stand in it',
    fix: 'gateway doctor --fix, or: chmod 600 {path}',
  },
  'secret-readable': {
    level: 'warning',
    text: 'others can read {path}, which holds a secret',
    fix: 'gateway doctor --fix, or: chmod 600 {path}',
  },
  'state-readable': {
    level: 'warning',
    text: 'others can look into {path}, where the gateway keeps what it knows',
    fix: 'gateway doctor --fix, or: chmod 700 {path}',
  },
  'state-unusable': {
    level: 'error',
    text: '{path} cannot be used: {why}',
    fix: 'Move it away, or set XDG_STATE_HOME to another directory',
  },
  'socket-directory': {
    level: 'error',
    text: 'others can look into {path}, so no gateway opens a socket there',
    fix: 'gateway doctor --fix, or: chmod 700 {path}',
  },
  'socket-stale': {
    level: 'info',
    text: 'gateways that are gone have left {count} in {path}',
    fix: 'gateway doctor --fix removes them',
  },
  'socket-blocked': {
    level: 'error',
    text: '{path} is no socket, so no client can attach',
    fix: 'Look what it is, and move it away: mv {path} {path}.old',
  },
  'lock-stale': {
    level: 'warning',
    text: '{path} is the lock of a process that is gone',
    fix: 'gateway doctor --fix removes it',
  },
  'client-broken': {
    level: 'error',
    text: 'the settings of {client} cannot be read: {path}: {why}',
    fix: 'Mend {path}, or get it back from {backup}',
  },
  'client-command-gone': {
    level: 'error',
    text: '{client} starts {command}, which is not there any more',
    fix: 'gateway doctor --fix writes where the gateway is now',
  },
  'client-config-gone': {
    level: 'error',
    text: '{client} wants the gateway of {config}, which is not there any more',
    fix: 'gateway doctor --fix takes the entry out; gateway connect {name} writes a new one',
  },
  'client-entry-gone': {
    level: 'info',
    text: '{client} has lost the entry that gateway connect has written',
    fix: 'gateway doctor --fix forgets it; gateway connect {name} writes it again',
  },
  'client-entry-changed': {
    level: 'info',
    text: 'the entry of {client} was changed since gateway connect has written it',
    fix: 'Nothing, where that was meant; else delete it in {path}, then: gateway connect {name}',
  },
  'client-own-servers': {
    level: 'info',
    text: '{client} starts {servers} by itself, too, which the gateway has',
    fix: 'Remove them in {path}, or each runs twice',
  },
  'no-clients': {
    level: 'info',
    text: 'no client is connected, and there are {clients}',
    fix: 'gateway connect --all',
  },
  'not-running': { level: 'info', text: 'no gateway runs with {config}', fix: 'gateway up' },
  'gateway-silent': {
    level: 'error',
    text: 'a gateway runs and does not answer: {why}',
    fix: 'End its process and start it anew: gateway up',
  },
  'gateways-many': {
    level: 'warning',
    text: '{count} gateways run with {config}',
    fix: 'gateway ps --all shows them; keep one, unless they are replicas of each other',
  },
  'version-differs': {
    level: 'warning',
    text: 'gateway {theirs} runs, and this is {own}',
    fix: 'gateway down; then: gateway up',
  },
  'names-withheld': {
    level: 'warning',
    text: '{count} names of {upstream} belong to another server as well, and are not shown: {names}',
    fix: 'Set upstreams.{upstream}.prefix to another text',
  },
  'tools-many': {
    level: 'info',
    text: 'clients are shown {count} tools; some take {limit} at most',
    fix: 'Give each client a part of them: filters.tools, or profiles',
  },
  'tools-heavy': {
    level: 'info',
    text: 'the list of tools takes about {tokens} tokens of each conversation',
    fix: 'Give each client a part of them: filters.tools, or profiles',
  },
} as const satisfies HealthTable

/** Something safe that mends a finding. */
export interface Repair {
  /** Says what it does: `chmod 600 /…`. */
  readonly action: string
  run(): Promise<void>
}

/** A finding, with what `--fix` does about it. */
export interface DoctorFinding extends HealthFinding {
  readonly repair?: Repair
}

/** Makes a finding of the doctor. */
export const createFinding: (
  code: keyof typeof DOCTOR_FINDINGS,
  fields?: Parameters<ReturnType<typeof defineFindings>>[1],
) => HealthFinding = defineFindings(DOCTOR_FINDINGS)
