import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Order } from './road.ts'

const ROAD = fileURLToPath(new URL('road.ts', import.meta.url))

/** A replica's road to Redis, in a process of its own: clients that are busy must not make Redis slow. */
export class Relay {
  readonly port: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
  }

  static async open(to: number): Promise<Relay> {
    const child = fork(ROAD, [String(to)], {
      stdio: 'ignore',
      execArgv: ['--disable-warning=ExperimentalWarning'],
    })
    const [port] = (await once(child, 'message')) as [number]
    return new Relay(child, port)
  }

  /** From now on nothing arrives, and nothing is refused. */
  cut(): void {
    this.#tell({ isCut: true })
  }

  heal(): void {
    this.#tell({ isCut: false })
  }

  slow(delayMs: number): void {
    this.#tell({ delayMs })
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect()
  }

  #tell(order: Order): void {
    this.#child.send(order)
  }
}
