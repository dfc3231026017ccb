import { spawn } from 'node:child_process'
import { findProgram } from '../../util/find-program.ts'
import { foldersIn, platformOf } from '../../util/platform.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A program with its arguments: no shell reads them. */
type Opener = readonly [command: string, ...args: string[]]

/** Opens a page in the browser of whoever sits here; false where nobody does, or the URL is not for a browser. */
export function openBrowser(url: string, environment: Environment, platform = platformOf().name): boolean {
  const parsed = URL.parse(url)
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return false
  const opener = openerOf(parsed.href, environment, platform)
  if (opener === undefined) return false
  const [command, ...args] = opener
  const child = spawn(command, args, { stdio: 'ignore', detached: true, shell: false })
  child.on('error', () => undefined)
  child.unref()
  return true
}

/** Of a session over SSH the browser is elsewhere, and without a display there is none. */
function openerOf(url: string, environment: Environment, platform: NodeJS.Platform): Opener | undefined {
  if (environment.SSH_CONNECTION !== undefined) return undefined
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url]
  if (platform === 'darwin') return ['open', url]
  const { DISPLAY = '', WAYLAND_DISPLAY = '', PATH } = environment
  if (DISPLAY === '' && WAYLAND_DISPLAY === '') return undefined
  const program = findProgram('xdg-open', foldersIn(PATH), '/')
  return program === undefined ? undefined : [program, url]
}
