import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** A program started for a test. */
export interface Child {
  readonly process: ChildProcess
  /** Everything it wrote on stderr so far. */
  stderr(): string
  /** Resolves with what `find` makes of the first line it recognises, on either stream. */
  line<T>(find: (line: string) => T | undefined, timeout?: number): Promise<T>
  /** SIGTERM, then SIGKILL after `grace` milliseconds; resolves when it is gone. */
  stop(grace?: number): Promise<void>
}

/** Nothing that a test leaves behind is to be found in the next run. */
const STATE = join(tmpdir(), `peers-state-${process.pid}`)
const living = new Set<ChildProcess>()
let guarded = false

/** Starts `program` on this Node; it never outlives this process. */
export function startChild(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = { ...process.env, XDG_STATE_HOME: STATE },
): Child {
  guardExit()
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  living.add(child)
  child.once('exit', () => living.delete(child))
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString('utf8')))
  const stop = (grace = 10_000) => stopChild(child, grace)
  return {
    process: child,
    stderr: () => errors,
    line: (find, timeout) => findLine(child, () => errors, find, timeout),
    stop,
  }
}

function findLine<T>(
  child: ChildProcess,
  errors: () => string,
  find: (line: string) => T | undefined,
  timeout = 30_000,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`${why}; its stderr:\n${errors()}`))
    const timer = setTimeout(() => fail(`no such line within ${timeout} ms`), timeout)
    child.once('exit', (code, signal) => fail(`it ended with ${signal ?? code}`))
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue
      createInterface({ input: stream }).on('line', line => {
        const found = find(line)
        if (found === undefined) return
        clearTimeout(timer)
        resolve(found)
      })
    }
  })
}

function stopChild(child: ChildProcess, grace: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise(resolve => {
    const timer = setTimeout(() => child.kill('SIGKILL'), grace)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    child.kill('SIGTERM')
  })
}

function guardExit(): void {
  if (guarded) return
  guarded = true
  process.once('exit', () => {
    living.forEach(child => child.kill('SIGKILL'))
    rmSync(STATE, { recursive: true, force: true })
  })
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    process.once(signal, () => process.exit(code))
}
