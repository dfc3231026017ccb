import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { Lines } from '../peers/lines.ts'
import { Calls, requestParts } from './calls.ts'
import type { Cell, Measured } from './messages.ts'

/** A process that speaks MCP on its pipes, initialized and ready. */
export class StdioProcess {
  readonly #input: Writable
  readonly #child: ChildProcess
  #onLine: (line: Buffer) => void = () => undefined
  #onChunkEnd: () => void = () => undefined
  #stderr = ''
  #onExit: () => void = () => undefined

  /** Runs Node with `args`. */
  constructor(args: readonly string[]) {
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child = child
    this.#input = child.stdin
    const lines = new Lines(line => this.#onLine(line))
    child.stdout.on('data', (chunk: Buffer) => {
      lines.push(chunk)
      this.#onChunkEnd()
    })
    child.stderr.on(
      'data',
      (chunk: Buffer) => (this.#stderr = (this.#stderr + chunk.toString()).slice(-4000)),
    )
    child.stdin.on('error', () => undefined)
    child.once('exit', () => this.#onExit())
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  async initialize(): Promise<void> {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1.0.0' },
    }
    await this.#ask({ jsonrpc: '2.0', id: 'hello', method: 'initialize', params })
    this.#input.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    await this.#ask({ jsonrpc: '2.0', id: 'list', method: 'tools/list' })
  }

  #ask(request: object): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onExit = () => reject(new Error(`it ended; its stderr:\n${this.#stderr}`))
      this.#onLine = line => {
        // Some servers speak of changed lists at once.
        if (line.includes('"method":"notifications/')) return
        if (line.includes('"error":')) reject(new Error(line.toString()))
        else resolve()
      }
      this.#input.write(`${JSON.stringify(request)}\n`)
    })
  }

  /**
   * Keeps as many requests under way as the cell says. Each goes out in a write of its own, as clients do it; in bursts
   * all that become due with one chunk of replies go out together.
   */
  measure(cell: Cell): Promise<Measured> {
    const parts = requestParts(cell.ask)
    return new Promise((resolve, reject) => {
      const calls = new Calls(cell, reject)
      let pending = ''
      const queue = (): void => {
        const id = calls.next()
        if (id === undefined) return
        const line = `${parts.join(String(id))}\n`
        if (cell.isBurst === true) pending += line
        else this.#input.write(line, 'latin1')
      }
      const flush = (): void => {
        if (pending !== '') this.#input.write(pending, 'latin1')
        pending = ''
      }
      this.#onLine = line => {
        calls.answered(line)
        if (!line.toString('latin1', 0, 60).includes('"method":"notifications/')) queue()
      }
      this.#onChunkEnd = flush
      this.#onExit = () => reject(new Error(`it ended; its stderr:\n${this.#stderr}`))
      for (let notifier = 0; notifier < cell.concurrency; notifier++) queue()
      flush()
      calls.measure().then(resolve, reject)
    })
  }

  /** Ends it as a client does; resolves when it has gone. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exit = once(this.#child, 'exit')
    this.#input.end()
    this.#child.kill()
    await exit
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
