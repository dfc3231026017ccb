import { oneLine } from '../../util/plain-text.ts'
import type { Terminal } from '../output/terminal.ts'
import { install, serviceOf, stateOf, uninstall, type Ran, type ServiceFlags } from './service.ts'
import type { Host } from '../host.ts'

interface SayFlags extends ServiceFlags {
  readonly json: boolean
  readonly 'dry-run'?: boolean | undefined
}

/** Exit code where the system did not do what it was asked for. */
const FAILED = 1
const NOT_THERE = 4

/** Installs the service, and says so. Returns the exit code. */
export async function sayInstall(flags: SayFlags, terminal: Terminal, host: Host): Promise<number> {
  const service = await serviceOf(flags, terminal, host)
  const { out } = terminal
  const { name, file, text, kind } = service
  if (flags['dry-run'] === true) {
    if (flags.json) out.json({ name, file, text, runs: kind.enable(file, name) })
    else for (const line of [`# ${file}`, ...text.trimEnd().split(/\r?\n/)]) out.line(line)
    return 0
  }
  const ran = await install(service, terminal)
  const failed = ran.some(({ why }) => why !== undefined)
  if (flags.json) out.json({ name, file, ran })
  else {
    out.line(`${out.paint('green', 'wrote')} ${file} (${kind.title})`)
    for (const line of ranLines(ran, terminal)) out.line(line)
    if (failed) out.line(`${kind.refused}; gateway service uninstall takes the file back`)
    if (ran.length === 0)
      out.line(
        `on that system: ${kind
          .enable(file, name)
          .map(line => line.join(' '))
          .join('; ')}`,
      )
  }
  return failed ? FAILED : 0
}

/** Removes the service, and says so. Returns the exit code. */
export async function sayUninstall(flags: SayFlags, terminal: Terminal, host: Host): Promise<number> {
  const service = await serviceOf(flags, terminal, host)
  const { out } = terminal
  const { isGone, ran } = await uninstall(service, terminal)
  if (flags.json) out.json({ name: service.name, file: service.file, removed: isGone, ran })
  else if (isGone) for (const line of [...ranLines(ran, terminal), `removed ${service.file}`]) out.line(line)
  else out.line(`there is no service of this configuration: ${service.file}`)
  return isGone ? 0 : NOT_THERE
}

/** Says whether the service is there and runs. Returns the exit code. */
export async function sayServiceStatus(flags: SayFlags, terminal: Terminal, host: Host): Promise<number> {
  const service = await serviceOf(flags, terminal, host)
  const { out } = terminal
  const state = await stateOf(service, terminal)
  if (flags.json) out.json({ name: service.name, file: service.file, ...state })
  else if (!state.isInstalled) out.line(`not installed: ${service.file}; gateway service install writes it`)
  else {
    out.line(
      `${state.isActive ? out.paint('green', 'active') : out.paint('yellow', 'not active')} ${service.file}`,
    )
    if (!state.isCurrent) out.line('it is not what would be written now: gateway service install')
  }
  return state.isActive ? 0 : NOT_THERE
}

function ranLines(ran: readonly Ran[], { out }: Terminal): string[] {
  return ran.map(({ line, why }) =>
    why === undefined
      ? `${out.paint('green', 'ran')} ${line}`
      : `${out.paint('red', 'failed')} ${line}: ${oneLine(why)}`,
  )
}
