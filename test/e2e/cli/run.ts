import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { LAUNCHER, requireBuild } from '../../peers/gateway.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { runCommand, type Outcome, type RunOptions } from '../../fixtures/run-command.ts'

/** The root of the repository, as a package that others depend on. */
export const PACKAGE = fileURLToPath(new URL('../../../', import.meta.url))
/** A small, honest server on stdio. */
export const SERVER = fileURLToPath(new URL('../../fixtures/bad-server.mjs', import.meta.url))

/** Nothing that a test leaves behind is to be found in the next run. */
const STATE = join(tmpdir(), `cli-state-${process.pid}`)
process.once('exit', () => rmSync(STATE, { recursive: true, force: true }))

/** Runs one command to its end, in this process. */
export function gateway(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  return runCommand(args, { ...options, env: { XDG_STATE_HOME: STATE, ...options.env } })
}

/** Waits until the gateway of a directory answers commands, which is a moment after it listens. */
export async function answersCommands(options: RunOptions): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if ((await gateway(['ps'], options)).code === 0) return
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('no gateway answers commands')
}

/** The same in a process of its own, where that is what a test is about. */
export async function gatewayProcess(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const child = start(args, options)
  child.stdin.end(options.input ?? '')
  const [code, stdout, stderr] = await Promise.all([exitOf(child), text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr }
}

/** A directory of its own with these files, gone after the test. */
export async function directory(t: TestContext, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'cli-')))
  cleanup(t, () => rm(path, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true })
    await writeFile(join(path, name), content)
  }
  return path
}

/** A command that runs until it is told to stop; killed after the test at the latest. */
export interface Serving {
  readonly child: ChildProcessWithoutNullStreams
  readonly exit: Promise<number | null>
  /** Resolves with the first log line of this message, past or future. */
  logged(message: string): Promise<Record<string, unknown>>
  stderr(): string
}

export function serving(t: TestContext, args: readonly string[], options: RunOptions = {}): Serving {
  const child = start(args, options)
  const exit = exitOf(child)
  const lines: string[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: child.stderr }).on('line', line => {
    lines.push(line)
    for (const look of waiting) look()
  })
  cleanup(t, async () => {
    child.kill('SIGKILL')
    await exit
  })
  const stderr = (): string => lines.join('\n')
  const logged = (message: string) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      const look = (): void => {
        const found = lines.map(logLine).find(line => line?.['message'] === message)
        if (found !== undefined) resolve(found)
      }
      waiting.add(look)
      look()
      void exit.then(code => reject(new Error(`it ended with ${code} without "${message}":\n${stderr()}`)))
    })
  return { child, exit, logged, stderr }
}

function start(args: readonly string[], { cwd, env }: RunOptions): ChildProcessWithoutNullStreams {
  requireBuild()
  return spawn(process.execPath, [LAUNCHER, ...args], {
    cwd,
    env: { ...process.env, GATEWAY_ENV: '', XDG_STATE_HOME: STATE, ...env },
  })
}

function exitOf(child: ChildProcessWithoutNullStreams): Promise<number | null> {
  return new Promise(resolve => child.once('exit', code => resolve(code)))
}

function logLine(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}
