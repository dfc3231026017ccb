import { fork, spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Cell, Hold, Measured, Order, Report } from '../load/messages.ts'

const READY_MS = 20_000
const STOP_MS = 12_000
const CELL_GRACE_MS = 30_000
const HOLD_MS = 60_000

/** A file of the bench, as a path; `path` is relative to the folder of the bench. */
export function benchFile(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url))
}

export interface Started {
  readonly pid: number
  /** All that it was recognised by. */
  readonly found: string
}

/** Everything this bench has started; nothing of it outlives the bench. */
export class Children {
  readonly #living = new Set<ChildProcess>()

  constructor() {
    process.once('exit', () => this.#living.forEach(child => child.kill('SIGKILL')))
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  }

  /** Runs Node with `args`; resolves when `find` recognises something in its output. */
  async start(
    args: readonly string[],
    find: (output: string) => string | undefined,
    env: NodeJS.ProcessEnv = process.env,
  ): Promise<Started> {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env })
    this.#own(child)
    const found = await said(child, find)
    return { pid: child.pid ?? 0, found }
  }

  /** Runs any program; returns its process id at once. */
  run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): number {
    const child = spawn(command, args, { stdio: 'ignore', env })
    // Whoever waits for it to be ready hears of it soon enough.
    child.once('error', () => undefined)
    this.#own(child)
    return child.pid ?? 0
  }

  /** Starts the load client. */
  load(env: NodeJS.ProcessEnv = process.env): Load {
    const child = fork(benchFile('load/main.ts'), { env })
    this.#own(child)
    return new Load(child)
  }

  #own(child: ChildProcess): void {
    this.#living.add(child)
    child.once('exit', () => this.#living.delete(child))
  }

  /** Ends one of them and waits for it. */
  async end(pid: number): Promise<void> {
    const child = [...this.#living].find(living => living.pid === pid)
    if (child !== undefined) await stop(child)
  }

  /** Ends everything and waits for it. */
  async stop(): Promise<void> {
    await Promise.all([...this.#living].map(stop))
  }
}

function said(child: ChildProcess, find: (output: string) => string | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    const fail = (why: string): void => reject(new Error(`${child.spawnargs.join(' ')}: ${why}\n${output}`))
    const timer = setTimeout(() => fail(`not ready within ${READY_MS} ms`), READY_MS)
    child.once('exit', code => fail(`it ended with ${String(code)}`))
    const hear = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-20_000)
      const found = find(output)
      if (found === undefined) return
      clearTimeout(timer)
      resolve(found)
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  await new Promise<void>(resolve => {
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    // Peers and the load client end when their channel does; a gateway is asked to.
    if (child.connected) child.disconnect()
    child.kill()
  })
}

/** The load client, as the bench sees it. */
export class Load {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, { resolve(report: Report): void; reject(error: Error): void }>()
  #lastId = 0

  constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (report: Report) => {
      const waiting = this.#waiting.get(report.id)
      this.#waiting.delete(report.id)
      if (report.error === undefined) waiting?.resolve(report)
      else waiting?.reject(new Error(report.error))
    })
    child.once('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the load client ended'))
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Starts a process that speaks MCP on its pipes; resolves with its id when it is initialized. */
  async start(name: string, args: readonly string[]): Promise<number | undefined> {
    const { pid } = await this.#order(id => ({ id, start: { name, args } }), READY_MS)
    return pid
  }

  /** Opens sessions that say nothing more; they last as long as the load client. */
  async hold(hold: Hold): Promise<void> {
    await this.#order(id => ({ id, hold }), HOLD_MS)
  }

  async measure(cell: Cell): Promise<Measured> {
    const withinMs = 10 * cell.warmMs + cell.ms + CELL_GRACE_MS
    const { measured } = await this.#order(id => ({ id, cell }), withinMs)
    if (measured === undefined) throw new Error('the load client measured nothing')
    return measured
  }

  #order(make: (id: number) => Order, withinMs: number): Promise<Report> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no reply of the load client within ${withinMs} ms`)), withinMs)
      const settle =
        <T>(then: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(timer)
          then(value)
        }
      this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) })
      this.#child.send(make(id))
    })
  }
}
