import { homedir } from 'node:os'
import type { ChildProcess, ChildProcessByStdio, ChildProcessWithoutNullStreams } from 'node:child_process'
import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import type { StdioUpstreamConfig } from '../config/config.gen.ts'
import type { PrivatePlace } from '../util/private-place.ts'
import { MARK_VARIABLE } from './environment.ts'
import { wrapWithLimits } from './resource-limits.ts'
import { findProgram, scriptBehind } from '../util/find-program.ts'
import { splitPath, getPlatform } from '../util/platform.ts'
import { createSandboxArguments } from './sandbox.ts'
import { makeDirectorySync } from '../util/storage/files.ts'
import { readStartTime } from './proc-scan.ts'

/** A program with its arguments, as it is really run. */
interface LaunchCommand {
  readonly command: string
  readonly args: readonly string[]
}

/** Place in which a server is started. */
interface LaunchOptions {
  /** Directory of the configuration. */
  readonly directory: string
  readonly cwd: string
  /** The environment of the child. */
  readonly env: Readonly<Record<string, string>>
  /** The gateway's own. */
  readonly gatewayEnv: Readonly<Record<string, string | undefined>>
  /** Paths that may be written in its sandbox besides. */
  readonly writable?: readonly string[] | undefined
  /** Its HOME in a sandbox, made when there is none; without one it is temporary. */
  readonly ownHome?: string | undefined
  /** Paths that no sandbox shows. */
  readonly places?: readonly PrivatePlace[] | undefined
}

type LaunchSpec = Pick<StdioUpstreamConfig, 'command' | 'args' | 'ceilings' | 'sandbox'>

/**
 * Chooses what is run for a server: itself, or what sets its ceilings and builds its sandbox first. Throws an Error that says
 * what is missing.
 */
export function createLaunch(spec: LaunchSpec, site: LaunchOptions): LaunchCommand {
  const { command, args, ceilings, sandbox } = spec
  const platform = getPlatform()
  if (sandbox !== undefined && !platform.hasSandbox) throw new Error('"sandbox: bwrap" works on Linux only')
  const program = (): string | undefined => findProgram(command, splitPath(site.env.PATH), site.cwd)
  // A batch file of npm stands for the script that it would run.
  const batch = platform.hasModes ? undefined : program()
  const script = batch === undefined ? undefined : scriptBehind(batch)
  if (script !== undefined) return { command: 'node', args: [script, ...args] }
  if (!platform.hasModes) return { command, args }
  if (ceilings === undefined && sandbox === undefined) return { command, args }
  return createWrappedLaunch(spec, site, program())
}

function createWrappedLaunch(
  spec: LaunchSpec,
  site: LaunchOptions,
  program: string | undefined,
): LaunchCommand {
  const { args, ceilings, sandbox } = spec
  // Whatever wraps it would fail in words of its own.
  if (program === undefined)
    throw new Error(
      'command not found – is it installed, and is its folder on the PATH that the gateway passes on?',
    )
  const argv = wrapWithLimits(ceilings, [program, ...args], sandbox !== undefined)
  if (sandbox !== undefined)
    return { command: findBubblewrap(site), args: [...prepareSandbox(spec, program, site), ...argv] }
  const [first = program, ...rest] = argv
  return { command: first, args: rest }
}

function prepareSandbox(
  { args, sandbox = 'bwrap' }: LaunchSpec,
  program: string,
  site: LaunchOptions,
): string[] {
  const { gatewayEnv, ownHome, places = [] } = site
  if (ownHome !== undefined) makeDirectorySync(ownHome, 0o700)
  return createSandboxArguments(sandbox, {
    ...site,
    program,
    args,
    places,
    home: gatewayEnv.HOME ?? homedir(),
  })
}

function findBubblewrap({ gatewayEnv }: LaunchOptions): string {
  const file = findProgram('bwrap', splitPath(gatewayEnv.PATH), '/')
  if (file !== undefined) return file
  throw new Error(
    '"sandbox: bwrap" is configured, and bwrap is not installed (Debian and Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap)',
  )
}

/** A program, where it runs and with which variables. */
export interface SpawnOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  /** All of its environment. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Runs a server with pipes to us, in a session and a group of its own. Never in a shell. Throws what `spawn` throws. */
export function spawnServer({ command, args, cwd, env }: SpawnOptions): ChildProcessWithoutNullStreams {
  return spawn(command, args, {
    cwd,
    env,
    shell: false,
    detached: getPlatform().hasGroups,
    windowsHide: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

/** Runs what shall outlive us by a moment: a session of its own, one pipe from us, and nothing that keeps us alive. */
export function spawnWatcher({ command, args, cwd, env }: SpawnOptions): {
  watcher: ChildProcess
  pipe: Writable
} {
  const watcher: ChildProcessByStdio<Writable, null, null> = spawn(command, args, {
    ...{ cwd, env, detached: true },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.unref()
  // A pipe to a child is a socket, whatever its type says.
  if (watcher.stdin instanceof Socket) watcher.stdin.unref()
  return { watcher, pipe: watcher.stdin }
}

/** A process of ours and all that share its group. On Windows, where groups do not exist, the process alone. */
export class ProcessGroup {
  readonly #child: ChildProcess
  readonly #start: string | undefined

  constructor(child: ChildProcess) {
    this.#child = child
    this.#start = child.pid === undefined ? undefined : readStartTime(child.pid)
  }

  signal(signal: NodeJS.Signals): void {
    if (getPlatform().hasGroups) this.#send(signal)
    else this.#child.kill(signal)
  }

  /** True when anything of the group still runs. */
  get isAlive(): boolean {
    return getPlatform().hasGroups && this.#send(0)
  }

  #send(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#child
    if (pid === undefined || !this.#isOurs(pid)) return false
    try {
      return process.kill(-pid, signal)
    } catch (error) {
      // EPERM: something is there, and is not ours to signal.
      return (error as NodeJS.ErrnoException).code === 'EPERM'
    }
  }

  /** The number of a group is not given away while anybody is in it; a new leader means that nobody of ours is. */
  #isOurs(pid: number): boolean {
    const start = readStartTime(pid)
    return start === undefined || start === this.#start
  }
}

const OUTPUT_TIMEOUT_MS = 5000
const MAX_OUTPUT = 64 * 1024
/** Length of what a failed program wrote to its stderr, as far as it is shown. */
const MAX_STDERR_LENGTH = 300

/** A program with its arguments, and where it runs. */
interface OutputCommand {
  readonly argv: readonly string[]
  readonly cwd: string
}

/** Output of a program, without the line end, or the reason why there is none. */
type CommandResult = { readonly text: string } | { readonly why: string }

/**
 * Runs a program of the owner for what it prints: without a shell, with the gateway's own environment, for five seconds and
 * 64 KiB. Nothing of its process group outlives it: `execFile` cannot start a group.
 */
export async function runForOutput(
  { argv: [command = '', ...args], cwd }: OutputCommand,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<CommandResult> {
  const { [MARK_VARIABLE]: _, ...env } = environment
  const { promise, resolve } = Promise.withResolvers<CommandResult>()
  const child = spawnServer({ command, args, cwd, env })
  const group = new ProcessGroup(child)
  const pieces: Buffer[] = []
  let length = 0
  let stderrText = ''
  child.stdout.on('data', (piece: Buffer) => {
    length += piece.length
    if (length > MAX_OUTPUT) resolve({ why: `printed more than ${MAX_OUTPUT} bytes` })
    else pieces.push(piece)
  })
  child.stderr.on('data', (piece: Buffer) => {
    if (stderrText.length < MAX_STDERR_LENGTH) stderrText += piece.toString('utf8')
  })
  child.on('error', error => resolve({ why: `could not be run: ${describeFailure(error)}` }))
  child.on('close', (code, signal) => resolve(parseOutput(code, signal, Buffer.concat(pieces), stderrText)))
  child.stdin.on('error', () => undefined).end()
  const why = `did not end within ${OUTPUT_TIMEOUT_MS / 1000} s`
  const timer = setTimeout(() => resolve({ why }), OUTPUT_TIMEOUT_MS)
  const output = await promise
  clearTimeout(timer)
  group.signal('SIGKILL')
  child.stdout.destroy()
  child.stderr.destroy()
  return output
}

function parseOutput(
  code: number | null,
  signal: string | null,
  bytes: Buffer,
  complaint: string,
): CommandResult {
  if (code !== 0) {
    const text = complaint.trim().replace(/\s+/g, ' ').slice(0, MAX_STDERR_LENGTH)
    return { why: `ended with ${signal ?? `exit code ${code}`}${text === '' ? '' : `: ${text}`}` }
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '')
    return text === '' ? { why: 'printed nothing' } : { text }
  } catch {
    return { why: 'printed something that is no UTF-8 text' }
  }
}

function describeFailure(error: NodeJS.ErrnoException): string {
  return error.code === 'ENOENT' ? 'there is no such program' : error.message
}
