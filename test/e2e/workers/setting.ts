import { fileURLToPath } from 'node:url'
import type { TestContext } from 'node:test'
import { fetch } from 'undici'
import { directory, gateway, serving, type Serving } from '../cli/run.ts'

/** A server with one of everything, on stdio. */
export function everything(era: 'legacy' | 'modern' | 'dual' = 'dual', more: object = {}): object {
  const file = fileURLToPath(new URL('../../fixtures/everything.ts', import.meta.url))
  return { type: 'stdio', command: process.execPath, args: [file, '--stdio', '--era', era], ...more }
}

export interface Running extends Serving {
  readonly url: string
  readonly cwd: string
  /** All that `gateway ps --json` says. */
  ps(): Promise<Ps>
}

export interface Ps {
  readonly gateway: { readonly pid: number }
  readonly upstreams: readonly {
    readonly name: string
    readonly state: string
    readonly runtime?: { readonly instances: readonly { readonly pid?: number }[] }
  }[]
  readonly workers: readonly {
    readonly worker: number
    readonly ready: boolean
    readonly pid: number
    readonly restarts: number
    readonly sessions: number
    readonly running: number
    readonly load: { readonly replica: string }
  }[]
}

/** A gateway of two workers, once it serves. */
export async function twoWorkers(
  t: TestContext,
  config: object,
  options: { readonly files?: Record<string, string>; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Running> {
  const whole = { version: 1, listeners: { main: { type: 'http', port: 0 } }, ...config }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(whole), ...options.files })
  const running = serving(t, ['serve', '--workers', '2'], {
    cwd,
    ...(options.env === undefined ? {} : { env: options.env }),
  })
  const url = String((await running.logged('listening'))['url'])
  await running.logged('serving')
  const ps = async (): Promise<Ps> => JSON.parse((await gateway(['ps', '--json'], { cwd })).stdout) as Ps
  return { ...running, url, cwd, ps }
}

/** Connections go to the workers in turn: one more, so that the next one goes to the other. */
export async function skipOne(url: string): Promise<void> {
  const response = await fetch(new URL('/livez', url), { headers: { connection: 'close' } })
  await response.text()
}

/** The process whose a session or a sealed value is, as a replica of this machine. */
export function placeOf(id: unknown): string | undefined {
  return /^(r[0-9a-f]{16})[._]/.exec(String(id))?.[1]
}

/** Resolves once this holds. */
export async function until(holds: () => Promise<boolean> | boolean, withinMs = 20_000): Promise<void> {
  const deadline = Date.now() + withinMs
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('it never came to be')
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
