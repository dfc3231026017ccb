import { gatewayError } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { deriveCommandName } from '../server-names.ts'
import { redirectConsole, runGateway } from './run-gateway.ts'
import { createProblemLog } from './logs.ts'
import type { Host, Terminal } from '../output/terminal.ts'

interface WrapOptions {
  readonly command: readonly string[]
  readonly name: string | undefined
  /** `K=V`, or `K` to pass the current value. */
  readonly variables: readonly string[]
  readonly port: number | undefined
  /** Arguments before `--`, which is probably missing. */
  readonly stray: readonly string[]
}

/** Runs the gateway in front of one command. Returns the exit code. */
export async function runWrap(options: WrapOptions, terminal: Terminal, host: Host): Promise<number> {
  redirectConsole(host)
  const config = createWrapConfig(options, terminal)
  const log = createProblemLog(terminal)
  const { createGateway } = await import('../../gateway/gateway.ts')
  const gateway = await createGateway(config, {
    log,
    directory: terminal.cwd,
    environment: terminal.environment,
  })
  const printUrls = (): void => {
    for (const { url } of gateway.listeners) if (url !== undefined) terminal.err.line(url)
  }
  return runGateway(gateway, { host, log, started: printUrls })
}

export function createWrapConfig(
  { command, name, variables, port, stray }: WrapOptions,
  { environment }: Terminal,
): JsonObject {
  const [program, ...args] = command
  if (program === undefined || stray.length > 0) throw createNoCommandError(stray)
  const upstream = name ?? deriveCommandName(command)
  const env = Object.fromEntries(variables.map(variable => parseVariable(variable, environment)))
  return {
    version: 1,
    server: { name: upstream },
    log: { level: 'warn' },
    listeners: port === undefined ? { stdio: { type: 'stdio' } } : { http: { type: 'http', port } },
    upstreams: { [upstream]: { type: 'stdio', command: program, args, env, prefix: '', onFailure: 'fail' } },
  }
}

function createNoCommandError(stray: readonly string[]): Error {
  const command = stray.length > 0 ? stray.join(' ') : '<command>'
  return gatewayError('GW_USAGE', { what: `put -- before the command: gateway wrap -- ${command}` })
}

function parseVariable(variable: string, environment: Terminal['environment']): [string, string] {
  const at = variable.indexOf('=')
  const key = at === -1 ? variable : variable.slice(0, at)
  const value = at === -1 ? environment[key] : variable.slice(at + 1)
  if (key === '' || value === undefined) {
    throw gatewayError('GW_USAGE', {
      what: `--env-var ${variable}: ${key === '' ? 'missing name' : 'variable is not set'}`,
    })
  }
  return [key, value]
}
