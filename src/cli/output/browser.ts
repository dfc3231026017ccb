import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findProgram } from '../../util/find-program.ts'
import { splitPath, getPlatform } from '../../util/platform.ts'

type BrowserEnvironment = Readonly<Record<string, string | undefined>>

/** Program and arguments, without a shell. */
type Opener = readonly [command: string, ...args: string[]]

/** By then the browser has read its page. */
const MAX_AGE_MS = 300_000

/**
 * Opens a URL in the local browser. Returns false without a browser or for another scheme. The URL may contain a
 * secret, and process arguments are public, so the browser gets a redirect file in `directory` that only this user
 * can read.
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

/** Over SSH the browser is remote; without a display there is none. */
function findOpener(environment: BrowserEnvironment, platform: NodeJS.Platform): Opener | undefined {
  if (environment.SSH_CONNECTION !== undefined) return undefined
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  if (platform === 'darwin') return ['open']
  const { DISPLAY = '', WAYLAND_DISPLAY = '', PATH } = environment
  if (DISPLAY === '' && WAYLAND_DISPLAY === '') return undefined
  const program = findProgram('xdg-open', splitPath(PATH), '/')
  return program === undefined ? undefined : [program]
}

/** Writes a redirect page and returns its URL; undefined if it cannot be written. */
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
