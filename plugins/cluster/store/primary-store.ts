import { chmod } from 'node:fs/promises'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { type Clock, type JsonObject, reasonOf } from '../../../src/plugin.ts'
import { clusterError } from '../errors.ts'
import { Circuit } from './circuit.ts'
import { MemoryStore } from './memory-store.ts'
import * as scripts from './scripts.ts'
import { LEASE } from './scripts.ts'
import type { Reply, Script, Store } from './store.ts'

const BY_NAME = new Map<unknown, Script>(Object.values(scripts).map(script => [script.name, script]))

/** Time that a process which is busy, such as with a reload, may take. */
const ANSWER_MS = 1000

interface Waiting {
  readonly answered: (reply: Reply | undefined) => void
  readonly failed: (cause: Error) => void
}

/** The store of replicas that are processes of one machine: the memory of the one that started them, which listens at a socket. */
export class PrimaryStore implements Store {
  readonly upSince = undefined
  readonly #path: string
  readonly #clock: Clock
  readonly #circuit: Circuit
  readonly #waiting = new Map<number, Waiting>()
  #socket: Socket | undefined
  #last = 0

  constructor(path: string, clock: Clock) {
    this.#path = path
    this.#clock = clock
    this.#circuit = new Circuit(clock)
  }

  get isUp(): boolean {
    return !this.#circuit.isOpen
  }

  connect(): Promise<void> {
    return Promise.resolve()
  }

  async get(key: string): Promise<string | undefined> {
    const reply = await this.#ask({ get: key })
    return typeof reply === 'string' ? reply : undefined
  }

  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    return (await this.#ask({ script: script.name, keys, args })) ?? null
  }

  close(): void {
    this.#socket?.destroy()
  }

  async #ask(question: JsonObject): Promise<Reply | undefined> {
    if (!this.#circuit.enter()) throw clusterError('GW_CLUSTER_AWAY', { why: 'the primary is too slow' })
    const id = ++this.#last
    let forget = (): void => undefined
    try {
      const reply = await new Promise<Reply | undefined>((answered, failed) => {
        forget = this.#clock.after(ANSWER_MS, () => failed(new Error(`no answer in ${ANSWER_MS} ms`)))
        this.#waiting.set(id, { answered, failed })
        this.#socket ??= this.#connected()
        this.#socket.write(`${JSON.stringify({ id, ...question })}\n`)
      })
      this.#circuit.answered()
      return reply
    } catch (cause) {
      this.#circuit.failed()
      throw clusterError('GW_CLUSTER_AWAY', { why: reasonOf(cause), cause })
    } finally {
      forget()
      this.#waiting.delete(id)
    }
  }

  #connected(): Socket {
    const socket = createConnection(this.#path).unref()
    let why = new Error('the primary has gone')
    socket.on('error', error => (why = error))
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = undefined
      for (const { failed } of this.#waiting.values()) failed(why)
    })
    eachLine(socket, line => {
      const { id, reply } = JSON.parse(line) as { id: number; reply?: Reply }
      this.#waiting.get(id)?.answered(reply)
    })
    return socket
  }
}

/** Memory that the process which started them has of its replicas; a reload changes nothing in it. */
export class KeptStore {
  readonly memory: MemoryStore
  readonly #server: Server
  #started: Promise<void> | undefined

  constructor(clock: Clock) {
    this.memory = new MemoryStore(clock)
    this.#server = createServer(socket => this.#serve(socket)).unref()
  }

  /** Answers at a socket that only this user can reach what its replicas ask. */
  start(path: string): Promise<void> {
    return (this.#started ??= this.#listen(path))
  }

  async #listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (cause: Error) =>
        reject(clusterError('GW_CLUSTER_LISTEN', { address: path, why: cause.message, cause })),
      )
      this.#server.listen(path, resolve)
    })
    await chmod(path, 0o600)
  }

  /** A process that has ended has no lease, whatever time was left. */
  #serve(socket: Socket): void {
    let lease: string | undefined
    socket.unref().on('error', () => undefined)
    socket.on('close', () => this.memory.delete(lease))
    eachLine(socket, line => {
      const question = questionIn(line)
      if (question?.script === LEASE) lease = question.keys[0]
      if (question === undefined) socket.destroy()
      else void this.#answer(question).then(reply => socket.write(`${JSON.stringify(reply)}\n`))
    })
  }

  async #answer({ id, get, script, keys, args }: Question): Promise<JsonObject> {
    const reply = script === undefined ? this.memory.get(get) : this.memory.run(script, keys, args)
    return { id, reply: await reply }
  }
}

function eachLine(socket: Socket, heard: (line: string) => void): void {
  const lines = createInterface({ input: socket, crlfDelay: Infinity })
  // Errors of the socket are its own listeners'.
  lines.on('line', heard).on('error', () => undefined)
}

interface Question {
  readonly id: number
  readonly get: string
  readonly script: Script | undefined
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** A question as a replica of this machine asks it; undefined for what nobody of ours has written. */
function questionIn(line: string): Question | undefined {
  try {
    const { id, get, script, keys = [], args = [] } = JSON.parse(line) as JsonObject
    const isOurs = script === undefined ? typeof get === 'string' : BY_NAME.has(script)
    if (!isOurs || ![keys, args].every(list => Array.isArray(list))) return undefined
    return { id, get, script: BY_NAME.get(script), keys, args } as Question
  } catch {
    return undefined
  }
}
