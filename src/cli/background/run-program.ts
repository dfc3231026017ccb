import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { findProgram } from '../../util/find-program.ts'
import { splitPath } from '../../util/platform.ts'
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
