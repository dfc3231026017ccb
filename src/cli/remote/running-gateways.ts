import { relative } from 'node:path'
import { type Load } from '../../api/index.ts'
import type { UpstreamStatus } from '../../api/gateway.ts'
import { connectControl } from '../../control/client.ts'
import { allLivingSockets } from '../../control/sockets.ts'
import type { Health } from '../../errors/health.ts'
import { durationText, oneLine } from '../../util/plain-text.ts'
import type { Terminal } from '../output/terminal.ts'

/** A gateway that runs, and the socket it is steered by. */
interface RunningOne extends Ps {
  readonly socket: string
}

/** Every gateway of this user that answers. */
export async function allRunning({ environment }: Terminal): Promise<RunningOne[]> {
  const found = await Promise.all((await allLivingSockets(environment)).map(askedOf))
  return found.filter(one => one !== undefined)
}

/** Text that tells several apart: `pid 4711, up 2h 5m, http://127.0.0.1:8080/mcp, gateway.yaml: --socket /run/…`. */
export async function aboutThem(sockets: readonly string[], cwd: string): Promise<string> {
  const found = await Promise.all(sockets.map(askedOf))
  const texts = found.map((one, i) => (one === undefined ? String(sockets[i]) : about(one, cwd)))
  return texts.map(text => `\n  ${text}`).join('')
}

function about({ gateway, listeners, socket }: RunningOne, cwd: string): string {
  const { pid, startedAt, config } = gateway
  const parts = [
    `pid ${pid}`,
    startedAt === undefined ? undefined : `up ${durationText(Date.now() - startedAt)}`,
    ...listeners.map(({ url, type }) => url ?? type),
    config === undefined ? undefined : relative(cwd, config),
  ].filter(part => part !== undefined)
  return `${parts.map(oneLine).join(', ')}: --socket ${socket}`
}

async function askedOf(socket: string): Promise<RunningOne | undefined> {
  try {
    const client = await connectControl(socket)
    return { ...((await client.request('ps')) as unknown as Ps), socket }
  } catch {
    // The gateway may have ended since it was seen.
    return undefined
  }
}

/** Output of `gateway ps --json`. */
export interface Ps {
  readonly gateway: {
    readonly name: string
    readonly version: string
    readonly pid: number
    readonly startedAt?: number
    readonly config?: string
    readonly rss: number
  }
  readonly listeners: readonly { readonly name: string; readonly type: string; readonly url?: string }[]
  readonly load?: Load
  /** Absent where an older gateway runs. */
  readonly health?: Health
  readonly upstreams: readonly (UpstreamStatus & { readonly rss?: number })[]
}
