import { EventEmitter } from 'node:events'
import { isIP, type Socket } from 'node:net'
import type { Clock } from '../../../../src/plugin.ts'
import type { Reply } from '../store.ts'
import {
  type Address,
  type Connection,
  CONNECT_MS,
  type Login,
  MOST_WAITING,
  pauseAfter,
  type Target,
  type Tls,
} from './connection.ts'
import { RedisError, Replies } from './replies.ts'

const PORT = 6379
const KEEP_ALIVE_MS = 5000

interface Waiting {
  readonly answered: (reply: Reply) => void
  readonly failed: (error: Error) => void
}

/** Place of one Redis, and who asks it. */
interface Place extends Address {
  readonly login: Login
  readonly database: number
  readonly tls: Tls | undefined
}

/** How a connection is made. */
export interface SingleOptions {
  readonly clock: Clock
  /** Address, where no URL says it. */
  readonly at?: Address | undefined
  /** Ends with its first connection; else it is made anew until it is closed. */
  readonly isOnce?: boolean
}

/** The way to one Redis. Nothing waits for a connection: what cannot be sent now is refused. */
export class SingleConnection extends EventEmitter implements Connection {
  readonly #target: Target
  readonly #options: SingleOptions
  readonly #place: Place
  readonly #channels = new Map<string, (text: string) => void>()
  #waiting: Waiting[] = []
  #socket: Socket | undefined
  #isReady = false
  #isOpen = false
  #retries = 0
  #forget: () => void = () => undefined
  #isCorked = false
  /** It has subscribed to something, and so is told what nobody asked for. */
  #listens = false

  constructor(target: Target, options: SingleOptions) {
    super()
    this.#target = target
    this.#options = options
    this.#place = placeOf(target, options.at)
  }

  get isReady(): boolean {
    return this.#isReady
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Resolves with the first connection. */
  connect(): Promise<void> {
    this.#isOpen = true
    return new Promise((resolve, reject) => {
      this.once('ready', resolve)
      if (this.#options.isOnce === true) this.once('error', reject)
      this.#open()
    })
  }

  send(_key: string, command: string[]): Promise<Reply> {
    if (!this.#isReady) return Promise.reject(new Error('there is no connection'))
    return this.#ask(command)
  }

  async subscribe(channel: string, heard: (text: string) => void): Promise<void> {
    this.#channels.set(channel, heard)
    this.#listens = true
    await this.send('', ['SUBSCRIBE', channel])
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#channels.delete(channel)
    await this.send('', ['UNSUBSCRIBE', channel])
  }

  duplicate(): Connection {
    return new SingleConnection(this.#target, this.#options)
  }

  destroy(): void {
    this.#isOpen = false
    this.#forget()
    this.#socket?.destroy()
    this.#lost(new Error('it is closed'))
  }

  #open(): void {
    const socket = dial(this.#place)
    const replies = new Replies()
    let why: Error = new Error('the connection was closed')
    this.#socket = socket
    this.#forget = this.#options.clock.after(CONNECT_MS, () => {
      if (!this.#isReady) socket.destroy(new Error(`no connection in ${CONNECT_MS} ms`))
    })
    socket.on('error', error => (why = error))
    socket.on('data', chunk => {
      try {
        for (const reply of replies.push(chunk)) this.#heard(reply)
      } catch (error) {
        socket.destroy(error as Error)
      }
    })
    socket.on('close', () => {
      if (this.#socket === socket) this.#closed(why)
    })
    socket.once(this.#place.tls === undefined ? 'connect' : 'secureConnect', () => {
      this.#greet().catch((error: unknown) => socket.destroy(error as Error))
    })
  }

  /** Says who asks, and what it listens to. */
  async #greet(): Promise<void> {
    const { login, database } = this.#place
    const { username, password } = login
    const asked: Promise<Reply>[] = []
    if (password !== undefined)
      asked.push(this.#ask(['AUTH', ...(username === undefined ? [] : [username]), password]))
    if (database > 0) asked.push(this.#ask(['SELECT', String(database)]))
    // One that is starting, or wants a password, takes connections and no commands.
    asked.push(this.#ask(['PING']).catch(ifNotAllowed))
    for (const channel of this.#channels.keys()) asked.push(this.#ask(['SUBSCRIBE', channel]))
    await Promise.all(asked)
    this.#forget()
    this.#retries = 0
    this.#isReady = true
    this.emit('ready')
  }

  #closed(why: Error): void {
    this.#forget()
    this.#lost(why)
    if (!this.#isOpen) return
    if (this.#options.isOnce === true) this.#isOpen = false
    else this.#forget = this.#options.clock.after(pauseAfter(this.#retries++), () => this.#open())
    this.emit('error', why)
  }

  #lost(why: Error): void {
    const waiting = this.#waiting
    this.#isReady = false
    this.#waiting = []
    for (const { failed } of waiting) failed(why)
  }

  #heard(reply: Reply | RedisError): void {
    if (this.#listens && Array.isArray(reply) && reply[0] === 'message') {
      const [, channel, text] = reply as Reply[]
      return this.#channels.get(String(channel))?.(String(text))
    }
    const first = this.#waiting.shift()
    // What nobody asked for says why there will be no connection.
    if (first === undefined) this.#socket?.destroy(new Error(`Redis says: ${String(reply)}`))
    else if (reply instanceof RedisError) first.failed(reply)
    else first.answered(reply)
  }

  #ask(command: readonly string[]): Promise<Reply> {
    const socket = this.#socket
    if (socket === undefined || this.#waiting.length >= MOST_WAITING)
      return Promise.reject(new Error('too much waits for Redis'))
    return new Promise((answered, failed) => {
      this.#waiting.push({ answered, failed })
      this.#cork(socket)
      socket.write(written(command))
    })
  }

  /** Commands of one turn of the event loop leave in one write. */
  #cork(socket: Socket): void {
    if (this.#isCorked) return
    this.#isCorked = true
    socket.cork()
    process.nextTick(() => {
      this.#isCorked = false
      socket.uncork()
    })
  }
}

function placeOf(target: Target, at: Address | undefined): Place {
  const { url, login, database = 0, tls } = target
  return url === undefined
    ? { ...(at ?? { host: '127.0.0.1', port: PORT }), login, database, tls }
    : placeIn(new URL(url), target)
}

/** Place that a URL names; what is said beside it comes first. */
function placeIn(url: URL, { login, database = 0, tls }: Target): Place {
  const { protocol, hostname, port, pathname } = url
  return {
    host: hostname === '' ? '127.0.0.1' : hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? PORT : Number(port),
    login: { ...loginIn(url), ...login },
    database: database > 0 ? database : Number(pathname.slice(1)) || 0,
    tls: tls ?? (protocol === 'rediss:' ? { tls: true } : undefined),
  }
}

function loginIn({ username, password }: URL): Login {
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  }
}

function dial({ host, port, tls }: Place): Socket {
  const net = process.getBuiltinModule('node:net')
  const { tls: _, ...files } = tls ?? {}
  const name = isIP(host) === 0 ? { servername: host } : {}
  const socket =
    tls === undefined
      ? net.connect({ host, port })
      : process.getBuiltinModule('node:tls').connect({ host, port, ...name, ...files })
  return socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS)
}

/** Who may not even ask whether it is there may ask other things. */
function ifNotAllowed(error: unknown): Reply {
  if (error instanceof RedisError && error.message.startsWith('NOPERM')) return null
  throw error
}

/** A command as Redis reads it. */
function written(command: readonly string[]): string {
  let text = `*${command.length}\r\n`
  for (const part of command) text += `$${Buffer.byteLength(part)}\r\n${part}\r\n`
  return text
}
