import type { UpstreamStatus } from '../../api/gateway.ts'
import type { Load } from '../../api/index.ts'
import type { ControlClient } from '../../control/client.ts'
import { connectControl } from '../../control/client.ts'
import { findAllLivingSockets, isListening, findLivingSockets } from '../../control/sockets.ts'
import { gatewayError, GatewayError } from '../../errors/errors.ts'
import type { Health } from '../../errors/health.ts'
import { getPlatform, resolveSocketAddress } from '../../util/platform.ts'
import type { SourceFlags } from '../load-source.ts'
import { findConfigFile, formatConfigFlags, loadSource } from '../load-source.ts'
import type { Terminal } from '../output/terminal.ts'

export interface ControlFlags {
  readonly config?: string | undefined
  readonly env?: string | undefined
  readonly socket?: string | undefined
}

/** Runs `use` with a control client for the running gateway; `one` accepts any if several are running. */
export async function withControl<T>(
  flags: ControlFlags,
  terminal: Terminal,
  use: (client: ControlClient) => Promise<T>,
  which: 'running' | 'one' = 'running',
): Promise<T> {
  return use(await connectControl(await findSocket(flags, terminal, which)))
}

/**
 * Like withControl, but returns undefined if no gateway is running. Values of `--set` require a temporary gateway.
 */
export async function withRunningGateway<T>(
  flags: ControlFlags & SourceFlags,
  terminal: Terminal,
  use: (client: ControlClient) => Promise<T>,
): Promise<{ readonly value: T } | undefined> {
  if (flags.set !== undefined && flags.set.length > 0) return undefined
  try {
    return { value: await withControl(flags, terminal, use) }
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'GW_NO_GATEWAY' && flags.socket === undefined) return undefined
    throw error
  }
}

async function findSocket(
  flags: ControlFlags,
  terminal: Terminal,
  which: 'running' | 'one' = 'running',
): Promise<string> {
  const { cwd, environment } = terminal
  if (flags.socket !== undefined) return resolveSocketAddress(flags.socket, cwd, getPlatform())
  const file = await findConfigFile(flags, terminal)
  const living = await findLivingSockets({ file, env: flags.env, environment })
  const [only, ...more] = living
  if (only === undefined) return findConfiguredSocket(file, flags, terminal)
  if (more.length === 0 || which === 'one') return only
  const sockets = living.map(socket => `\n  --socket ${socket}`).join('')
  throw gatewayError('GW_MANY_GATEWAYS', { count: living.length, config: file, sockets })
}

/** Checks `control.socket` of the configuration; ignores an invalid configuration. */
async function findConfiguredSocket(file: string, flags: ControlFlags, terminal: Terminal): Promise<string> {
  const source = await loadSource({ config: file, env: flags.env }, terminal, 'leave').catch(() => undefined)
  const socket = source?.config.control.socket
  if (source === undefined || socket === undefined) throw createNoGatewayError(file, flags, terminal)
  const path = resolveSocketAddress(socket, source.directory, getPlatform())
  if (!(await isListening(path))) throw createNoGatewayError(file, flags, terminal)
  return path
}

function createNoGatewayError(file: string, { env }: ControlFlags, terminal: Terminal): GatewayError {
  return gatewayError('GW_NO_GATEWAY', { config: formatConfigFlags(file, env, terminal) })
}

interface RunningGatewayInfo extends PsOutput {
  readonly socket: string
}

export async function listRunningGateways({ environment }: Terminal): Promise<RunningGatewayInfo[]> {
  const infos = await Promise.all((await findAllLivingSockets(environment)).map(requestInfo))
  return infos.filter(one => one !== undefined)
}

async function requestInfo(socket: string): Promise<RunningGatewayInfo | undefined> {
  try {
    const client = await connectControl(socket)
    return { ...((await client.request('ps')) as unknown as PsOutput), socket }
  } catch {
    // The gateway has stopped in the meantime.
    return undefined
  }
}

/** `gateway ps --json` output. */
export interface PsOutput {
  readonly gateway: {
    readonly name: string
    readonly version: string
    readonly pid: number
    readonly startedAt?: number
    readonly config?: string
    /** The configuration's environment. */
    readonly env?: string
    readonly rss: number
  }
  readonly listeners: readonly { readonly name: string; readonly type: string; readonly url?: string }[]
  readonly load?: Load
  /** Replicas in the same cluster, including this one. */
  readonly replicas?: readonly { readonly id: string; readonly address: string; readonly isSelf: boolean }[]
  /** Absent for an older gateway. */
  readonly health?: Health
  readonly upstreams: readonly (UpstreamStatus & { readonly rss?: number })[]
}
