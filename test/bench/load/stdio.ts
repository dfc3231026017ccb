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
  #stderr = ''
  #onExit: () => void = () => undefined

  /** Runs Node with `args`. */
  constructor(args: readonly string[]) {
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child = child
    this.#input = child.stdin
    const lines = new Lines(line => this.#onLine(line))
    child.stdout.on('data', (chunk: Buffer) => lines.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => (this.#stderr = (this.#stderr + chunk.toString()).slice(-4000)))
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

  /** Keeps as many requests under way as the cell says, each in a write of its own. */
  measure(cell: Cell): Promise<Measured> {
    const parts = requestParts(cell.ask)
    return new Promise((resolve, reject) => {
      const calls = new Calls(cell, reject)
      const next = (): void => {
        const id = calls.next()
        if (id !== undefined) this.#input.write(`${parts.join(String(id))}\n`, 'latin1')
      }
      this.#onLine = line => {
        calls.answered(line)
        if (!line.toString('latin1', 0, 60).includes('"method":"notifications/')) next()
      }
      this.#onExit = () => reject(new Error(`it ended; its stderr:\n${this.#stderr}`))
      for (let flight = 0; flight < cell.concurrency; flight++) next()
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
