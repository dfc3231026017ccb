import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'

/** A program, where it runs and with which variables. */
export interface Spawning {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  /** All of its environment. */
  readonly env: Record<string, string>
}

/** Runs a server with pipes to us, in a session and a group of its own. Never in a shell. Throws what `spawn` throws. */
export function spawnServer({ command, args, cwd, env }: Spawning): ChildProcessWithoutNullStreams {
  return spawn(command, args, {
    cwd,
    env,
    shell: false,
    detached: process.platform !== 'win32',
    windowsHide: true,
    stdio: 'pipe',
  })
}

/** Runs what shall outlive us by a moment: a session of its own, one pipe from us, and nothing that keeps us alive. */
export function spawnWatcher({ command, args, cwd, env }: Spawning): {
  watcher: ChildProcess
  pipe: Writable
} {
  const watcher = spawn(command, args, { cwd, env, detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  watcher.unref()
  // A pipe to a child is a socket, whatever its type says.
  if (watcher.stdin instanceof Socket) watcher.stdin.unref()
  return { watcher, pipe: watcher.stdin }
}
