import type { ChildProcess } from 'node:child_process'
import { execFile, spawn } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { findProgram } from '../../util/find-program.ts'
import { splitPath } from '../../util/platform.ts'
import type { Host, Terminal } from '../output/terminal.ts'

/** Starts this program anew, so that it goes on when this process ends; its output goes to an open file. */
export function spawnDetached(
  host: Host,
  args: readonly string[],
  cwd: string,
  output: number,
): ChildProcess {
  return spawn(host.execPath, [String(host.argv[1]), ...args], {
    cwd,
    env: { ...host.env },
    detached: true,
    stdio: ['ignore', output, output],
    windowsHide: true,
  })
}

/** Runs another command of this program to its end. */
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

const SYSTEM_TIMEOUT_MS = 30_000

/** Runs a program of the system, such as systemctl, and says why it failed; undefined where it did not. */
export function runSystemProgram(program: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise(resolve => {
    execFile(program, [...args], { timeout: SYSTEM_TIMEOUT_MS, windowsHide: true }, (error, _, stderr) =>
      resolve(error === null ? undefined : stderr.trim() || error.message),
    )
  })
}

/** `gateway` where that is this program; clients may have another PATH, so else by whole paths. */
export function findOwnCommand({ cwd, environment }: Terminal, host: Host): string[] {
  const launcher = findLauncher(cwd, host)
  const found = findProgram('gateway', splitPath(environment['PATH']), cwd)
  const isOwn = found !== undefined && realpathSync(found) === realpathSync(launcher)
  return isOwn ? ['gateway'] : [host.execPath, launcher]
}

/** The same by whole paths, for a shell that may have any PATH. */
export function getAbsoluteCommand({ cwd }: Terminal, host: Host): string[] {
  return [host.execPath, realpathSync(findLauncher(cwd, host))]
}

function findLauncher(cwd: string, host: Host): string {
  return resolve(cwd, String(host.argv[1]))
}
