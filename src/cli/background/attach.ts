import type { Socket } from 'node:net'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Problem } from '../../config/problem.ts'
import { Relay } from '../../control/relay.ts'
import { getAttachSocketPath, connectSocket } from '../../control/sockets.ts'
import { gatewayError, GatewayError, getOwnerReason } from '../../errors/errors.ts'
import { getExitCode } from '../../errors/table.ts'
import { readOwnPackage } from '../../util/version.ts'
import type { Host } from '../output/terminal.ts'
import { runOwnProgram } from './run-program.ts'

const ATTACH_OPTIONS = {
  config: { type: 'string', short: 'c' },
  env: { type: 'string' },
  set: { type: 'string', multiple: true },
  'env-file': { type: 'string', multiple: true },
  profile: { type: 'string' },
  label: { type: 'string' },
  'no-start': { type: 'boolean' },
} as const

/**
 * Runs `gateway attach` without loading the command line, to save memory. Returns the exit code, or undefined if the
 * command line must handle the arguments (help, mistakes).
 */
export async function attachWithoutCli(args: readonly string[], host: Host): Promise<number | undefined> {
  try {
    return await attach(parseArgs({ args: [...args], options: ATTACH_OPTIONS }).values, host)
  } catch (error) {
    // The full command line reports invalid arguments and handles --help.
    if (!(error instanceof GatewayError)) return undefined
    const problems = await formatProblems(error, host.cwd())
    const lines = [`error ${error.code}: ${getOwnerReason(error)}`, ...problems, `hint: ${error.hint}`]
    host.stderr.write(lines.map(line => `${line}\n`).join(''))
    return getExitCode(error.entry)
  }
}

/** Formats configuration problems. Loads the formatter only if there are any. */
async function formatProblems({ fields }: GatewayError, cwd: string): Promise<string[]> {
  const problems = (fields.problems ?? []) as readonly Problem[]
  if (problems.length === 0) return []
  const { formatProblem } = await import('../../config/problem.ts')
  return problems.map(problem => `  ${problem.severity === 'warning' ? 'warning ' : ''}${formatProblem(problem, cwd)}`)
}

export interface AttachFlags {
  readonly config?: string | undefined
  readonly env?: string | undefined
  readonly set?: readonly string[] | undefined
  readonly 'env-file'?: readonly string[] | undefined
  readonly profile?: string | undefined
  readonly label?: string | undefined
  /** Fail if no gateway is running. */
  readonly 'no-start'?: boolean | undefined
}

const LABEL_PATTERN = /^[A-Za-z0-9._-]{1,128}$/
const MAX_ATTEMPTS = 3

/**
 * Relays the client on stdin and stdout to the gateway of a configuration, and starts it if needed. Returns the exit
 * code.
 * One process per client runs this, so it loads little and starts a gateway through `gateway up`.
 * @throws GatewayError GW_USAGE, GW_NO_GATEWAY, GW_CONTROL
 */
export async function attach(flags: AttachFlags, host: Host): Promise<number> {
  const { label, profile } = flags
  if (label !== undefined && !LABEL_PATTERN.test(label))
    throw gatewayError('GW_USAGE', {
      what: '--label must be 1 to 128 letters, digits, dots, underscores or hyphens',
    })
  // Connect before the first client message, so that this command reports failures.
  let first: Socket | undefined = await connectOrStart(flags, host)
  const printLine = (text: string): void => void host.stderr.write(`${text}\n`)
  const relay = new Relay({
    input: host.stdin,
    output: host.stdout,
    hello: { cwd: host.cwd(), profile, label },
    connect: async () => {
      const socket = first ?? (await connectOrStart(flags, host))
      first = undefined
      return socket
    },
    onAttached: ({ version }) => checkVersion(version, printLine),
    onGiveUp: reason => printLine(`lost the connection to the gateway: ${reason}`),
  })
  return relay.run()
}

async function connectOrStart(flags: AttachFlags, host: Host): Promise<Socket> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const namedSocket = attempt === 0 ? getNamedSocket(flags, host) : undefined
    const path = namedSocket ?? (await resolveSocket(flags, host))
    const socket = await connectSocket(path)
    if (socket !== undefined) return socket
  }
  throw gatewayError('GW_NO_GATEWAY', { config: flags.config ?? host.cwd() })
}

/** Returns the socket of `--config`. Without it, `gateway up` searches for the configuration. */
function getNamedSocket({ config, env }: AttachFlags, { cwd, env: environment }: Host): string | undefined {
  if (config === undefined) return undefined
  return getAttachSocketPath({ file: resolve(cwd(), config), env, environment })
}

/** Returns the running or newly started gateway's socket. */
async function resolveSocket(flags: AttachFlags, host: Host): Promise<string> {
  const { text, exit } = await runOwnProgram(host, createStartCommand(flags))
  const { socket, error } = parseAttachMessage(text)
  if (socket !== undefined) return socket
  const { code = 'GW_INTERNAL', message = text, hint = '', problems } = error ?? {}
  throw new GatewayError(code, { message, hint, problems }, { text: '{message}', hint: '{hint}', exit })
}

function createStartCommand(flags: AttachFlags): string[] {
  const { config, env, set = [], 'env-file': envFiles = [], 'no-start': noStart = false } = flags
  const settings = [...set.flatMap(one => ['--set', one]), ...envFiles.flatMap(one => ['--env-file', one])]
  const start = noStart ? ['status', '--to-attach'] : ['up', '--until-idle', ...settings]
  const named = config === undefined ? [] : ['--config', config]
  return [...start, '--json', ...named, ...(env === undefined ? [] : ['--env', env])]
}

interface AttachMessage {
  readonly socket?: string
  readonly error?: Partial<Record<'code' | 'message' | 'hint', string>> & { readonly problems?: unknown }
}

function parseAttachMessage(text: string): AttachMessage {
  try {
    return JSON.parse(text) as AttachMessage
  } catch {
    return {}
  }
}

function checkVersion(theirs: unknown, printLine: (text: string) => void): void {
  const { version } = readOwnPackage()
  if (theirs !== version)
    printLine(`this is gateway ${version}, but ${String(theirs)} is running: run "gateway down", then "gateway up"`)
}
