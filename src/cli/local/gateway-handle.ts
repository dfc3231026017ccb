import { relative } from 'node:path'
import { constants } from 'node:os'
import type { ClientConnection, GatewayOptions, Inspection, UpstreamStatus } from '../../api/gateway.ts'
import { RpcFailure } from '../../api/gateway.ts'
import type { DescribedConfig, LoadedConfig } from '../../config/index.ts'
import { describeConfig } from '../../config/index.ts'
import type { ControlClient } from '../../control/client.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { disableRecords } from '../../gateway/load-config.ts'
import type { GatewayDeps } from '../../gateway/generation.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import type { SourceFlags } from '../load-source.ts'
import { loadSource, getStateDirectory, replaceListeners } from '../load-source.ts'
import { formatStarting, withProgress } from '../output/progress.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { ControlFlags } from '../remote/control-connection.ts'
import { withRunningGateway } from '../remote/control-connection.ts'
import { createSilentLog } from '../serve/logs.ts'
import { keepProcessAlive } from '../serve/run-gateway.ts'
import { isAvailable } from '../serve/summary.ts'

export interface QueryFlags extends ControlFlags, SourceFlags {
  /** Use a temporary gateway. */
  readonly fresh?: boolean | undefined
  /** The requests' caller; default: anonymous. */
  readonly as?: string | undefined
}

/** Running or temporary gateway, with client and control requests. */
export interface GatewayHandle {
  /** True for a temporary gateway, which other commands cannot reach. */
  readonly isOwn: boolean
  /** @throws RpcFailure if the response is an error */
  request(method: string, params?: JsonObject): Promise<JsonObject>
  inspect(): Promise<Inspection & DescribedConfig>
  /** Sends a control request. */
  control(verb: string, params: JsonObject): Promise<JsonObject>
}

/** Runs `use` with the running gateway of the configuration, or a temporary one. */
export async function withGatewayHandle<T>(
  flags: QueryFlags,
  terminal: Terminal,
  use: (gateway: GatewayHandle) => Promise<T>,
): Promise<T> {
  const running =
    flags.fresh === true
      ? undefined
      : await withRunningGateway(flags, terminal, client => {
          printUsedGateway(client, terminal)
          return use(createControlHandle(client, flags, terminal))
        })
  if (running !== undefined) return running.value
  const source = await loadSource(flags, terminal)
  const gatewayOptions: OwnGatewayOptions = { ephemeral: true, state: getStateDirectory(source, terminal) }
  const ask = (gateway: Gateway): Promise<T> => use(createOwnHandle(gateway, source, flags, terminal))
  return withGateway(disableRecords(source), terminal, ask, gatewayOptions)
}

export function printUsedGateway({ about: { pid, config } }: ControlClient, { cwd, err }: Terminal): void {
  const name = config === undefined ? '' : `, ${relative(cwd, config)}`
  err.line(err.paint('dim', `using the running gateway (pid ${pid}${name}); --fresh starts another`))
}

function createControlHandle(client: ControlClient, { as }: QueryFlags, { cwd }: Terminal): GatewayHandle {
  return {
    isOwn: false,
    request: async (method, params = {}) => {
      const { result, error } = await client.request('client.request', { method, params, as })
      if (isObject(error)) throw new RpcFailure(error as unknown as RpcError)
      return isObject(result) ? result : {}
    },
    inspect: async () =>
      (await client.request('inspect', { config: true, cwd })) as unknown as Inspection & DescribedConfig,
    control: (verb, params) => client.request(verb, params),
  }
}

function createOwnHandle(gateway: Gateway, source: LoadedConfig, { as }: QueryFlags, { cwd }: Terminal): GatewayHandle {
  let connection: Promise<ClientConnection> | undefined
  return {
    isOwn: true,
    request: async (method, params) => (await (connection ??= gateway.connect({ as }))).request(method, params),
    inspect: async () => ({ ...describeConfig(source, cwd), ...(await gateway.inspect()) }),
    control: (verb, params) => gateway.control(verb, params),
  }
}

export type OwnGatewayOptions = Pick<GatewayOptions, 'ephemeral' | 'state'> & Pick<GatewayDeps, 'upstream'>

/** Runs `use` with a temporary gateway after its upstreams have settled. It has no listeners. */
export async function withGateway<T>(
  source: LoadedConfig,
  terminal: Terminal,
  use: (gateway: Gateway) => Promise<T>,
  options: OwnGatewayOptions = {},
): Promise<T> {
  return withBuiltGateway(source, terminal, options, async gateway => {
    const describe = (): string => formatStarting([...gateway.upstreams.values()].map(one => one.status()))
    const settled = gateway.start().then(() => gateway.settled())
    await withProgress(terminal, describe, settled)
    return use(gateway)
  })
}

/** Runs `use` with an unstarted gateway: its plugins and shared state. */
export function withUnstartedGateway<T>(
  source: LoadedConfig,
  terminal: Terminal,
  use: (gateway: Gateway) => Promise<T>,
): Promise<T> {
  const gatewayOptions: OwnGatewayOptions = { ephemeral: true, state: getStateDirectory(source, terminal) }
  return withBuiltGateway(disableRecords(source), terminal, gatewayOptions, use)
}

async function withBuiltGateway<T>(
  source: LoadedConfig,
  { environment }: Terminal,
  options: OwnGatewayOptions,
  use: (gateway: Gateway) => Promise<T>,
): Promise<T> {
  const { makeGateway } = await import('../../gateway/gateway.ts')
  const { upstream, ...own } = options
  const gatewayOptions = { ...own, log: createSilentLog(), environment }
  const gateway = await makeGateway(replaceListeners(source, {}), gatewayOptions, upstream)
  const forget = closeOnSignal(gateway, process)
  const release = keepProcessAlive()
  try {
    return await use(gateway)
  } finally {
    await gateway.close()
    forget()
    release()
  }
}

const STATE_TEXTS: Readonly<Record<string, string>> = { failed: 'failed', needs_auth: 'needs a login' }

/** Prints a warning for each unavailable upstream. */
export function warnUnavailable(upstreams: readonly UpstreamStatus[], { err }: Terminal): void {
  for (const { name, state, problem } of upstreams.filter(upstream => !isAvailable(upstream))) {
    err.line(
      `${err.paint('yellow', 'warning')} upstream "${name}" ${STATE_TEXTS[state] ?? `is ${state}`}${problem === undefined ? '' : `: ${problem}`}`,
    )
  }
}

// Child processes have their own process groups, so Ctrl-C does not reach them.
function closeOnSignal(gateway: Gateway, host: Host): () => void {
  const closeGateway = (signal: 'SIGINT' | 'SIGTERM'): void => {
    void gateway.close().finally(() => host.exit(128 + constants.signals[signal]))
  }
  host.once('SIGINT', closeGateway)
  host.once('SIGTERM', closeGateway)
  return () => {
    host.off('SIGINT', closeGateway)
    host.off('SIGTERM', closeGateway)
  }
}
