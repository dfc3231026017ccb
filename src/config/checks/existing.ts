import { isAbsolute, join } from 'node:path'
import { listAt, mapAt, textAt, type Plain } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import type { Report } from '../problem.ts'

const INTERPRETER = /(^|\/)(node|bun|deno|python[\d.]*|ruby|tsx)$/
const SCRIPT = /\.([cm]?[jt]s|py|rb)$/

/** What is there: a path, relative to the configuration, or a program by its name on a search path. */
export interface Present {
  readonly path: (path: string) => boolean
  readonly program: (name: string, searchPath: string | undefined) => boolean
}
type Missing = (key: string, path: string, hint: string) => void

/** What a local server is run from and is not there: it may still come, so a warning. */
export function checkExisting(config: unknown, present: Present, report: Report): void {
  const upstreams = mapAt(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const spec = mapAt(upstreams, name)
    if (spec.type !== 'stdio' || spec.enabled === false) continue
    const at = pointerTo('/upstreams', name)
    const warn = (key: string, message: string, hint: string): void =>
      report({ pointer: `${at}/${key}`, message, hint, severity: 'warning' })
    const command = textAt(spec, 'command') ?? ''
    if (/^[^\s/\\]+$/.test(command) && !present.program(command, textAt(mapAt(spec, 'env'), 'PATH')))
      warn('command', `${command} is not on the PATH`, 'install it, or give its whole path')
    // Each project has a directory of its own.
    if (spec.cwd === 'project') continue
    checkServer(spec, present.path, (key, path, hint) => warn(key, `${path} does not exist`, hint))
  }
}

function checkServer(spec: Plain, exists: Present['path'], missing: Missing): void {
  const cwd = textAt(spec, 'cwd') ?? '.'
  if (!exists(cwd))
    return missing(
      'cwd',
      cwd,
      'make the directory, or name another one; it is relative to the configuration file',
    )
  const isMissing = (path: string): boolean => !exists(isAbsolute(path) ? path : join(cwd, path))
  const command = textAt(spec, 'command') ?? ''
  // What holds more than a program is a mistake of its own.
  if (/^\S*\/\S*$/.test(command) && isMissing(command))
    missing('command', command, 'install it, or correct the path; it is relative to `cwd`')
  const [script] = INTERPRETER.test(command) ? listAt(spec, 'args') : []
  if (typeof script === 'string' && SCRIPT.test(script) && isMissing(script))
    missing('args/0', script, 'correct the path; it is relative to `cwd`')
}
