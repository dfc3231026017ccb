import { basename, extname } from 'node:path'
import { gatewayError } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { guardStdout, runGateway } from './run-gateway.ts'
import { problemLog } from './logs.ts'
import type { Terminal } from '../output/terminal.ts'

interface WrapOptions {
  readonly command: readonly string[]
  readonly name: string | undefined
  /** `K=V`, or `K` for a variable of our own. */
  readonly variables: readonly string[]
  readonly port: number | undefined
  /** Arguments that were meant for the command, but came without `--`. */
  readonly stray: readonly string[]
}

/** Runs the gateway in front of one command; returns the exit code. */
export async function wrap(options: WrapOptions, terminal: Terminal, host: NodeJS.Process): Promise<number> {
  guardStdout()
  const config = wrapConfig(options, terminal)
  const log = problemLog(terminal)
  const { createGateway } = await import('../../gateway/gateway.ts')
  const gateway = await createGateway(config, {
    log,
    directory: terminal.cwd,
    environment: terminal.environment,
  })
  const started = (): void => {
    for (const { url } of gateway.listeners) if (url !== undefined) terminal.err.line(url)
  }
  return runGateway(gateway, { host, log, started })
}

/** The configuration that stands for a command line. */
export function wrapConfig(
  { command, name, variables, port, stray }: WrapOptions,
  { environment }: Terminal,
): JsonObject {
  const [program, ...args] = command
  if (program === undefined || stray.length > 0) throw noCommand(stray)
  const upstream = name ?? nameOf(command)
  const env = Object.fromEntries(variables.map(variable => variableOf(variable, environment)))
  return {
    version: 1,
    server: { name: upstream },
    log: { level: 'warn' },
    listeners: port === undefined ? { stdio: { type: 'stdio' } } : { http: { type: 'http', port } },
    upstreams: { [upstream]: { type: 'stdio', command: program, args, env, prefix: '', onFailure: 'fail' } },
  }
}

function noCommand(stray: readonly string[]): Error {
  const given = stray.length > 0 ? stray.join(' ') : '<command>'
  return gatewayError('GW_USAGE', { what: `put -- before the command: gateway wrap -- ${given}` })
}

function variableOf(variable: string, environment: Terminal['environment']): [string, string] {
  const at = variable.indexOf('=')
  const key = at === -1 ? variable : variable.slice(0, at)
  const value = at === -1 ? environment[key] : variable.slice(at + 1)
  if (key === '' || value === undefined) {
    throw gatewayError('GW_USAGE', {
      what: `--env-var ${variable}: ${key === '' ? 'a name is missing' : 'no such variable is set'}`,
    })
  }
  return [key, value]
}

const RUNNERS = new Set([
  'npx',
  'uvx',
  'node',
  'bunx',
  'bun',
  'deno',
  'python',
  'python3',
  'pnpm',
  'yarn',
  'npm',
  'uv',
])
const VERBS = new Set(['run', 'exec', 'dlx', 'x', 'tool'])
/** Names of files and folders that say nothing of what is in them. */
const NAMELESS = new Set(['index', 'main', 'server', 'cli', 'dist', 'build', 'src', 'bin', 'lib', ''])

// `npx -y @scope/server-memory@1.0` is called server-memory, and so is `node server-memory/dist/index.js`.
function nameOf([program = '', ...args]: readonly string[]): string {
  const isRunner = RUNNERS.has(basename(program, extname(program)))
  const word = isRunner ? args.find(arg => !arg.startsWith('-') && !VERBS.has(arg)) : program
  const steps = (word ?? program)
    .replace(/(?<=.)@[^/\\]*$/, '')
    .split(/[/\\]/)
    .map(named)
    .reverse()
  return steps.find(step => !NAMELESS.has(step)) ?? steps.find(step => step !== '') ?? 'server'
}

function named(step: string): string {
  const name = step
    .replace(/\.(?:[cm]?[jt]s|py|exe|cmd)$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
  return name
    .replace(/^[^a-z]+/, '')
    .slice(0, 32)
    .replace(/-+$/, '')
}
