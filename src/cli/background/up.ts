import { statSync } from 'node:fs'
import { relative } from 'node:path'
import { gatewayError } from '../../errors/errors.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { ControlFlags, PsOutput } from '../remote/control-connection.ts'
import { withControl } from '../remote/control-connection.ts'
import { requestPs, formatPs } from '../remote/ps.ts'
import type { BackgroundGateway, BackgroundFlags } from './start-background.ts'
import { resolveBackground, isUp, startBackground } from './start-background.ts'

interface JsonFlags {
  readonly json: boolean
}

interface UpResult extends BackgroundGateway {
  readonly started: boolean
}

const POLL_MS = 50
/** Time limit for open requests, in addition to the configured one. */
const STOP_TIMEOUT_MS = 90_000

/** Starts the background gateway unless it is running. */
export async function ensureRunning(flags: BackgroundFlags, terminal: Terminal, host: Host): Promise<UpResult> {
  const background = await resolveBackground(flags, terminal)
  if (await isUp(background)) return { ...background, started: false }
  await startBackground(background, flags, { terminal, host })
  return { ...background, started: true }
}

export async function runUp(flags: BackgroundFlags & JsonFlags, terminal: Terminal, host: Host): Promise<number> {
  const result = await ensureRunning(flags, terminal, host)
  const { out, cwd } = terminal
  if (flags.json) out.json(result)
  else {
    const config = relative(cwd, result.config)
    const log = result.started ? result.log : await readStatus(flags, terminal).then(findLogFile, () => result.log)
    out.line(
      result.started
        ? `${out.paint('green', 'started')} the gateway of ${config} in the background`
        : `the gateway of ${config} is already running`,
    )
    out.line(`  ${out.paint('dim', 'log:')}      ${log}`)
    out.line(`  ${out.paint('dim', 'connect:')}  gateway attach -c ${config}`)
    out.line(`  ${out.paint('dim', 'status:')}   gateway status -c ${config}`)
    out.line(`  ${out.paint('dim', 'stop:')}     gateway down -c ${config}`)
  }
  return 0
}

/** Sends SIGTERM to the running gateway and waits until its process exits. */
export async function stopGateway(flags: ControlFlags, terminal: Terminal): Promise<{ readonly pid: number }> {
  const { socket, about } = await withControl(flags, terminal, client => Promise.resolve(client))
  const { pid } = about
  process.kill(pid, 'SIGTERM')
  const end = performance.now() + STOP_TIMEOUT_MS
  while (isAlive(pid)) {
    if (performance.now() > end)
      throw gatewayError('GW_CONTROL', {
        socket,
        why: `process ${pid} did not stop within ${STOP_TIMEOUT_MS / 1000} s`,
      })
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
  return { pid }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Gateway state with its log and whether clients can attach. */
export interface GatewayStatus extends PsOutput {
  readonly background: BackgroundGateway & {
    readonly attachable: boolean
    /** False if the gateway logs to stderr. */
    readonly hasLogFile: boolean
  }
}

/**
 * Returns the running gateway's state.
 * @throws GatewayError GW_NO_GATEWAY
 */
export async function readStatus(flags: ControlFlags, terminal: Terminal): Promise<GatewayStatus> {
  const now = await requestPs(flags, terminal)
  const config = flags.config ?? (flags.socket === undefined ? undefined : now.gateway.config)
  const background = await resolveBackground({ config, env: flags.env }, terminal)
  const hasLogFile = getModifiedAt(background.log) >= (now.gateway.startedAt ?? 0)
  return { ...now, background: { ...background, attachable: await isUp(background), hasLogFile } }
}

/** Milliseconds since the epoch; a log older than the gateway belongs to an earlier one. */
function getModifiedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity
}

function findLogFile({ background, gateway }: GatewayStatus): string {
  return background.hasLogFile ? background.log : `stderr of pid ${gateway.pid}`
}

/**
 * Finds a configuration's attach socket; only one of its gateways has it.
 * @throws GatewayError GW_NO_GATEWAY
 */
export async function findAttachSocket(flags: BackgroundFlags, terminal: Terminal): Promise<BackgroundGateway> {
  const background = await resolveBackground(flags, terminal)
  if (await isUp(background)) return background
  throw gatewayError('GW_NO_GATEWAY', { config: background.config })
}

export function formatStatus(state: GatewayStatus, terminal: Terminal): string[] {
  const { background, ...now } = state
  const { out } = terminal
  const attach = background.attachable
    ? `gateway attach -c ${relative(terminal.cwd, background.config)}`
    : 'cannot attach here: another process uses the socket, or attaching is disabled'
  return [
    ...formatPs(now, Date.now(), terminal),
    '',
    `${out.paint('dim', 'log')}     ${findLogFile(state)}`,
    `${out.paint('dim', 'clients')} ${attach}`,
  ]
}
