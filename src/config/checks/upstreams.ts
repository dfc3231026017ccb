import { isAbsolute, join } from 'node:path'
import type { Report } from '../../util/finding.ts'
import { appendPointer } from '../../util/finding.ts'
import type { Plain } from '../../util/plain-data.ts'
import { readList, readMap, readText, readValue } from '../../util/plain-data.ts'

interface UpstreamPrefix {
  readonly name: string
  readonly prefix: string
  /** Pointer to the prefix if configured, else to the upstream. */
  readonly pointer: string
}

/** Reports prefixes that lead to equal tool names. */
export function checkPrefixes(config: unknown, report: Report): void {
  const all = listPrefixes(config)
  all.forEach((one, i) => {
    for (const other of all.slice(0, i)) comparePrefixes(one, other, report)
  })
}

function listPrefixes(config: unknown): UpstreamPrefix[] {
  const upstreams = readMap(config, 'upstreams')
  const enabled = Object.keys(upstreams).filter(name => readValue(upstreams, name, 'enabled') !== false)
  return enabled.map(name => {
    const written = readText(upstreams, name, 'prefix')
    const at = appendPointer('/upstreams', name)
    return { name, prefix: written ?? `${name}__`, pointer: written === undefined ? at : `${at}/prefix` }
  })
}

function comparePrefixes(one: UpstreamPrefix, other: UpstreamPrefix, report: Report): void {
  const { pointer, prefix } = one
  if (prefix === '' && other.prefix === '') {
    const message = `no prefix here or for "${other.name}": on name conflicts, "${other.name}" wins`
    report({ pointer, message, hint: 'give one of them a prefix', severity: 'warning' })
  } else if (prefix === other.prefix) {
    report({
      pointer,
      message: `prefix "${prefix}" is already used by upstream "${other.name}"`,
      hint: 'use another prefix',
    })
  } else if (
    prefix !== '' &&
    other.prefix !== '' &&
    (prefix.startsWith(other.prefix) || other.prefix.startsWith(prefix))
  ) {
    const message = `prefixes "${prefix}" and "${other.prefix}" (upstream "${other.name}") overlap, so names may conflict`
    report({ pointer, message, hint: 'use prefixes where neither begins with the other', severity: 'warning' })
  }
}

/** A command is a single program without arguments. `isFile` detects paths with spaces. */
export function checkCommands(config: unknown, isFile: (path: string) => boolean, report: Report): void {
  const upstreams = readMap(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const command = readText(upstreams, name, 'type') === 'stdio' ? readText(upstreams, name, 'command') : undefined
    if (command === undefined || !isCommandLine(command, isFile)) continue
    report({ pointer: `${appendPointer('/upstreams', name)}/command`, ...explainCommandLine(command) })
  }
}

/** False for paths with spaces, even missing ones, unless the part before the first space is a program. */
function isCommandLine(command: string, isFile: (path: string) => boolean): boolean {
  if (!/[\s|&;<>`$"'*?]/.test(command) || isFile(command)) return false
  const [first = ''] = command.trim().split(/\s/)
  return /[|&;<>`$"'*?]/.test(command) || !/[/\\]/.test(first) || isFile(first)
}

function explainCommandLine(command: string): { message: string; hint: string } {
  const [program = '', ...args] = command.trim().split(/\s+/)
  if (/[|&;<>`$"'*?]/.test(command)) {
    const hint = 'put arguments into "args", or the whole line into a script'
    return { message: 'command runs without a shell, so this is taken as one file name', hint }
  }
  const hint = `write command: ${program}${args.length === 0 ? '' : `, args: ${JSON.stringify(args)}`}`
  return { message: 'command contains arguments', hint }
}

/** Reports connection limits that contradict `isolation`. */
export function checkPools(config: unknown, report: Report): void {
  const upstreams = readMap(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const isPerProject = readValue(upstreams, name, 'cwd') === 'project'
    const forwards = readList(upstreams, name, 'forwardHeaders').length > 0
    const isShared = !isPerProject && !forwards && (readValue(upstreams, name, 'isolation') ?? 'shared') === 'shared'
    if (!isShared || readValue(upstreams, name, 'pool') === undefined) continue
    report({
      pointer: `${appendPointer('/upstreams', name)}/pool`,
      message: 'pool requires processes per session or caller, but here all clients share one',
      hint: 'set isolation: session or principal',
    })
  }
}

const INTERPRETER = /(^|\/)(node|bun|deno|python[\d.]*|ruby|tsx)$/
const SCRIPT = /\.([cm]?[jt]s|py|rb)$/

/** Existence checks for paths, relative to the configuration, and for programs on PATH. */
interface ExistenceChecks {
  readonly path: (path: string) => boolean
  readonly program: (name: string, searchPath: string | undefined) => boolean
}
type ReportMissing = (key: string, path: string, hint: string) => void

/** Warns about missing directories, commands and scripts; they may be created later. */
export function checkExisting(config: unknown, present: ExistenceChecks, report: Report): void {
  const upstreams = readMap(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const spec = readMap(upstreams, name)
    if (spec.type !== 'stdio' || spec.enabled === false) continue
    const at = appendPointer('/upstreams', name)
    const warn = (key: string, message: string, hint: string): void =>
      report({ pointer: `${at}/${key}`, message, hint, severity: 'warning' })
    const command = readText(spec, 'command') ?? ''
    if (/^[^\s/\\]+$/.test(command) && !present.program(command, readText(readMap(spec, 'env'), 'PATH')))
      warn('command', `${command} not found on PATH`, 'install it, or use an absolute path')
    // The directory differs per project.
    if (spec.cwd === 'project') continue
    checkServer(spec, present.path, (key, path, hint) => warn(key, `${path} does not exist`, hint))
  }
}

/** Command lines are reported separately. */
function isMissingProgram(command: string, isMissing: (path: string) => boolean): boolean {
  return command.includes('/') && isMissing(command) && !isCommandLine(command, path => !isMissing(path))
}

function checkServer(spec: Plain, exists: ExistenceChecks['path'], missing: ReportMissing): void {
  const cwd = readText(spec, 'cwd') ?? '.'
  if (!exists(cwd))
    return missing('cwd', cwd, 'create the directory, or correct the path; it is relative to the configuration file')
  const isMissing = (path: string): boolean => !exists(isAbsolute(path) ? path : join(cwd, path))
  const command = readText(spec, 'command') ?? ''
  if (isMissingProgram(command, isMissing))
    missing('command', command, 'install it, or correct the path; it is relative to `cwd`')
  const [script] = INTERPRETER.test(command) ? readList(spec, 'args') : []
  if (typeof script === 'string' && SCRIPT.test(script) && isMissing(script))
    missing('args/0', script, 'correct the path; it is relative to `cwd`')
}
