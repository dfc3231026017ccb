import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findProgram } from '../../util/find-program.ts'
import { splitPath, getPlatform } from '../../util/platform.ts'

type BrowserEnvironment = Readonly<Record<string, string | undefined>>

/** A program with its arguments: no shell reads them. */
type Opener = readonly [command: string, ...args: string[]]

/** A browser has read its page long before. */
const MAX_AGE_MS = 300_000

/**
 * Opens a page in the browser of whoever sits here; false where nobody does, or the URL is not for a browser. Everybody on
 * this machine can read arguments of processes, and a URL may hold a secret: the browser gets a file that leads there, which
 * only this user can read, in `directory`.
 */
export function openBrowser(
  url: string,
  directory: string | undefined,
  environment: BrowserEnvironment,
  platform = getPlatform().name,
): boolean {
  const parsed = URL.parse(url)
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return false
  const opener = findOpener(environment, platform)
  const page = opener && directory && writePage(parsed.href, directory)
  if (opener === undefined || !page) return false
  const [command, ...args] = opener
  const child = spawn(command, [...args, page], { stdio: 'ignore', detached: true, shell: false })
  child.on('error', () => undefined)
  child.unref()
  return true
}

/** Of a session over SSH the browser is elsewhere, and without a display there is none. */
function findOpener(environment: BrowserEnvironment, platform: NodeJS.Platform): Opener | undefined {
  if (environment.SSH_CONNECTION !== undefined) return undefined
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  if (platform === 'darwin') return ['open']
  const { DISPLAY = '', WAYLAND_DISPLAY = '', PATH } = environment
  if (DISPLAY === '' && WAYLAND_DISPLAY === '') return undefined
  const program = findProgram('xdg-open', splitPath(PATH), '/')
  return program === undefined ? undefined : [program]
}

/** Writes a page that leads to a URL, and returns its own; undefined if there is no place for it. */
function writePage(url: string, directory: string): string | undefined {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    removeOldPages(directory)
    const file = join(directory, `${randomBytes(8).toString('hex')}.html`)
    const address = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
    const refresh = `<meta http-equiv="refresh" content="0;url=${address}">`
    writeFileSync(file, `<!doctype html><meta charset="utf-8">${refresh}\n`, { mode: 0o600, flag: 'wx' })
    return pathToFileURL(file).href
  } catch {
    return undefined
  }
}

function removeOldPages(directory: string): void {
  for (const name of readdirSync(directory)) {
    const file = join(directory, name)
    const { mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? { mtimeMs: 0 }
    if (Date.now() - mtimeMs > MAX_AGE_MS) rmSync(file, { force: true })
  }
}
