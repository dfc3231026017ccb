import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { realpathSync, mkdirSync, writeFileSync } from 'node:fs'
import { resolve, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findProgram } from '../../util/find-program.ts'
import { splitPath, getPlatform } from '../../util/platform.ts'
import type { Host, Terminal } from '../output/terminal.ts'

/** Starts this program detached, with its output in an open file. */
export function spawnDetached(host: Host, args: readonly string[], cwd: string, output: number): ChildProcess {
  return spawn(host.execPath, [String(host.argv[1]), ...args], {
    cwd,
    env: { ...host.env },
    detached: true,
    stdio: ['ignore', output, output],
    windowsHide: true,
  })
}

/** Runs another command of this program and returns its stdout. */
export function runOwnProgram(host: Host, args: readonly string[]): Promise<{ text: string; exit: number }> {
  return new Promise((resolve, reject) => {
    const child = spawn(host.execPath, [String(host.argv[1]), ...args], {
      cwd: host.cwd(),
      env: { ...host.env },
      stdio: ['ignore', 'pipe', 'inherit'],
      windowsHide: true,
    })
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
    child.once('error', reject)
    child.once('close', code => resolve({ text, exit: code ?? 1 }))
  })
}

/** Returns `gateway` if the PATH leads to this program, else absolute paths, since clients may have another PATH. */
export function findOwnCommand({ cwd, environment }: Terminal, host: Host): string[] {
  const launcher = resolve(cwd, String(host.argv[1]))
  const program = findProgram('gateway', splitPath(environment['PATH']), cwd)
  const isOwn = program !== undefined && realpathSync(program) === realpathSync(launcher)
  return isOwn ? ['gateway'] : [host.execPath, launcher]
}

type BrowserEnvironment = Readonly<Record<string, string | undefined>>

/** Program and arguments, without a shell. */
type Opener = readonly [command: string, ...args: string[]]

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
    const file = join(directory, 'open.html')
    const address = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
    const refresh = `<meta http-equiv="refresh" content="0;url=${address}">`
    writeFileSync(file, `<!doctype html><meta charset="utf-8">${refresh}\n`, { mode: 0o600 })
    return pathToFileURL(file).href
  } catch {
    return undefined
  }
}
