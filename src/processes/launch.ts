import { homedir } from 'node:os'
import type { ChildProcess, ChildProcessByStdio, ChildProcessWithoutNullStreams } from 'node:child_process'
import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import type { StdioUpstreamConfig } from '../config/config.gen.ts'
import type { PrivatePath } from '../util/private-path.ts'
import { MARK_VARIABLE } from './environment.ts'
import { wrapWithLimits } from './resource-limits.ts'
import { findProgram, findNodeScript } from '../util/find-program.ts'
import { splitPath, getPlatform } from '../util/platform.ts'
import { createSandboxArguments } from './sandbox.ts'
import { makeDirectorySync } from '../util/storage/files.ts'
import { readStartTime } from './proc-scan.ts'

interface LaunchCommand {
  readonly command: string
  readonly args: readonly string[]
}

interface LaunchOptions {
  /** Configuration directory. */
  readonly directory: string
  readonly cwd: string
  /** Child environment. */
  readonly env: Readonly<Record<string, string>>
  /** Gateway environment. */
  readonly gatewayEnv: Readonly<Record<string, string | undefined>>
  /** Additional writable paths in the sandbox. */
  readonly writable?: readonly string[] | undefined
  /** Persistent HOME in the sandbox, created if missing; default: temporary. */
  readonly ownHome?: string | undefined
  /** Paths hidden from every sandbox. */
  readonly privatePaths?: readonly PrivatePath[] | undefined
}

type LaunchSpec = Pick<StdioUpstreamConfig, 'command' | 'args' | 'ceilings' | 'sandbox'>

/**
 * Builds the command line: the server itself, or wrapped in limits and a sandbox. Throws if a requirement is missing.
 */
export function createLaunch(spec: LaunchSpec, site: LaunchOptions): LaunchCommand {
  const { command, args, ceilings, sandbox } = spec
  const platform = getPlatform()
  if (sandbox !== undefined && !platform.hasSandbox) throw new Error('"sandbox: bwrap" is only supported on Linux')
  const program = (): string | undefined => findProgram(command, splitPath(site.env.PATH), site.cwd)
  // npm's batch files are replaced by the script they run.
  const batch = platform.hasModes ? undefined : program()
  const script = batch === undefined ? undefined : findNodeScript(batch)
  if (script !== undefined) return { command: 'node', args: [script, ...args] }
  if (!platform.hasModes) return { command, args }
  if (ceilings === undefined && sandbox === undefined) return { command, args }
  return createWrappedLaunch(spec, site, program())
}

function createWrappedLaunch(spec: LaunchSpec, site: LaunchOptions, program: string | undefined): LaunchCommand {
  const { args, ceilings, sandbox } = spec
  // Fail here with a clear message; wrappers would report their own.
  if (program === undefined) throw new Error('command not found: install it, or add its folder to PATH')
  const argv = wrapWithLimits(ceilings, [program, ...args], sandbox !== undefined)
  if (sandbox !== undefined)
    return { command: findBubblewrap(site), args: [...prepareSandbox(spec, program, site), ...argv] }
  const [first = program, ...rest] = argv
  return { command: first, args: rest }
}

function prepareSandbox({ args, sandbox = 'bwrap' }: LaunchSpec, program: string, site: LaunchOptions): string[] {
  const { gatewayEnv, ownHome, privatePaths = [] } = site
  if (ownHome !== undefined) makeDirectorySync(ownHome, 0o700)
  return createSandboxArguments(sandbox, {
    ...site,
    program,
    args,
    privatePaths,
    home: gatewayEnv.HOME ?? homedir(),
  })
}

function findBubblewrap({ gatewayEnv }: LaunchOptions): string {
  const file = findProgram('bwrap', splitPath(gatewayEnv.PATH), '/')
  if (file !== undefined) return file
  throw new Error(
    '"sandbox: bwrap" requires bubblewrap (Debian and Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap)',
  )
}

export interface SpawnOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  /** The complete environment. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Spawns a server with pipes, in its own session and group, without a shell. Throws `spawn` errors. */
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

/** Spawns a detached process with one pipe, which does not keep the gateway alive. */
export function spawnWatcher({ command, args, cwd, env }: SpawnOptions): {
  watcher: ChildProcess
  pipe: Writable
} {
  const watcher: ChildProcessByStdio<Writable, null, null> = spawn(command, args, {
    ...{ cwd, env, detached: true },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.unref()
  // Typed as Writable, but pipes to children are sockets.
  if (watcher.stdin instanceof Socket) watcher.stdin.unref()
  return { watcher, pipe: watcher.stdin }
}

/** A child and its process group. Windows has no groups, so only the child there. */
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

  /** True if any process in the group is alive. */
  get isAlive(): boolean {
    return getPlatform().hasGroups && this.#send(0)
  }

  #send(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#child
    if (pid === undefined || !this.#isOurs(pid)) return false
    try {
      return process.kill(-pid, signal)
    } catch (error) {
      // EPERM: the process exists but is not ours.
      return (error as NodeJS.ErrnoException).code === 'EPERM'
    }
  }

  /** A group id is not reused while in use. A new leader means that our group is gone. */
  #isOurs(pid: number): boolean {
    const start = readStartTime(pid)
    return start === undefined || start === this.#start
  }
}

const OUTPUT_TIMEOUT_MS = 5000
const MAX_OUTPUT = 64 * 1024
/** Longest stderr excerpt in an error. */
const MAX_STDERR_LENGTH = 300

interface OutputCommand {
  readonly argv: readonly string[]
  readonly cwd: string
}

/** Output without the final line break, or an error. */
type CommandResult = { readonly text: string } | { readonly why: string }

/**
 * Runs an owner's program for its output: no shell, the gateway's environment, 5 s, 64 KiB. Kills its process group
 * afterwards, which `execFile` cannot.
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
  child.on('error', error => resolve({ why: `cannot run: ${describeFailure(error)}` }))
  child.on('close', (code, signal) => resolve(parseOutput(code, signal, Buffer.concat(pieces), stderrText)))
  child.stdin.on('error', () => undefined).end()
  const reason = `timed out after ${OUTPUT_TIMEOUT_MS / 1000} s`
  const timer = setTimeout(() => resolve({ why: reason }), OUTPUT_TIMEOUT_MS)
  const output = await promise
  clearTimeout(timer)
  group.signal('SIGKILL')
  child.stdout.destroy()
  child.stderr.destroy()
  return output
}

function parseOutput(code: number | null, signal: string | null, bytes: Buffer, complaint: string): CommandResult {
  if (code !== 0) {
    const text = complaint.trim().replace(/\s+/g, ' ').slice(0, MAX_STDERR_LENGTH)
    return { why: `failed with ${signal ?? `exit code ${code}`}${text === '' ? '' : `: ${text}`}` }
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '')
    return text === '' ? { why: 'printed nothing' } : { text }
  } catch {
    return { why: 'printed invalid UTF-8' }
  }
}

function describeFailure(error: NodeJS.ErrnoException): string {
  return error.code === 'ENOENT' ? 'program not found' : error.message
}
