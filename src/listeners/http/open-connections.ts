import type { Clock, Gate, Principal } from '../../api/index.ts'
import { ANONYMOUS, authorizationKey, principalKey } from '../../plugin.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import type { MessageContext, Channel } from '../../net/channel.ts'
import { IdleSweeper, Ticker } from '../../util/clock.ts'
import type { Admission } from '../client/inbound-request.ts'
import type { DuplexDeps, DuplexOptions } from '../duplex/duplex-connection.ts'
import { DuplexConnection } from '../duplex/duplex-connection.ts'
import type { AuthResult, RequestHeaders, Refusal } from './http-request.ts'
import { createTooManyRefusal } from './http-request.ts'
import { createRefusal } from './response.ts'

/** Counts sessions and connections per caller, over all transports. Anonymous callers are not limited. */
export class SessionQuota {
  /** Limit per caller, updated on reload. */
  max: number
  readonly #counts = new Map<string, number>()

  constructor(max: number) {
    this.max = max
  }

  isFull(principal: Principal): boolean {
    return (this.#counts.get(principalKey(principal)) ?? 0) >= this.max
  }

  count(principal: Principal, change: 1 | -1): void {
    const key = principalKey(principal)
    if (key === principalKey(ANONYMOUS)) return
    const count = (this.#counts.get(key) ?? 0) + change
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }
}

export interface NetworkChannel extends Channel {
  /** Resolves when the connection is closed. */
  close(): Promise<void>
}

/** An HTTP+SSE session: the client posts messages and reads an event stream. */
export interface PostedConversation {
  readonly principal: Principal
  /** Receives a posted message; false if the stream is closed. */
  receivePost(body: Buffer, arrived: MessageContext): Promise<boolean>
}

type ConnectionOptions = Pick<DuplexOptions, 'isLegacyOnly' | 'label' | 'profile' | 'choices' | 'socket' | 'via'> & {
  readonly principal: Principal
}

interface ConnectionContext extends DuplexDeps {
  readonly quota: SessionQuota
  readonly admission: Admission
  readonly isStopping: boolean
  readonly sessions: { readonly size: number }
  readonly connections: { readonly size: number }
  readonly settings: { readonly maxSessions: number }
}

/** Event streams and WebSockets of an HTTP listener. Idle ones are closed. */
export class OpenConnections {
  readonly #open = new Map<DuplexConnection, Promise<void>>()
  readonly #sweeper: IdleSweeper<DuplexConnection>
  /** Updated on reload. */
  idleMs: number

  constructor(clock: Clock, idleMs: number) {
    this.idleMs = idleMs
    this.#sweeper = new IdleSweeper(clock, {
      idleMs: () => this.idleMs,
      list: () => this.#open.keys(),
      idleSince: connection => connection.idleSince,
      close: connection => void connection.end('idle', 0),
    })
  }

  get size(): number {
    return this.#open.size
  }

  begin(context: ConnectionContext, channel: NetworkChannel, options: ConnectionOptions): void {
    const { quota, admission } = context
    const { principal } = options
    const connection = new DuplexConnection({ channel, context, graceMs: 0, admission, ...options })
    quota.count(principal, 1)
    this.#open.set(
      connection,
      this.#closeWhenEnded(connection, channel).finally(() => quota.count(principal, -1)),
    )
    connection.start()
    this.#sweeper.arm()
  }

  /** Waits up to `graceMs` for open requests, then disconnects. */
  async stop(graceMs: number): Promise<void> {
    this.#sweeper.stop()
    for (const connection of this.#open.keys()) void connection.end('shutdown', graceMs)
    await Promise.all(this.#open.values())
  }

  async #closeWhenEnded(connection: DuplexConnection, channel: NetworkChannel): Promise<void> {
    await connection.closed
    await channel.close()
    this.#open.delete(connection)
  }
}

/** Returns a refusal if no connection may be opened. */
export function checkCapacity(context: ConnectionContext, caller: Principal): Refusal | undefined {
  if (context.isStopping)
    return {
      ...createRefusal(503, 'The gateway is stopping', RPC.internal),
      headers: { connection: 'close' },
    }
  if (context.sessions.size + context.connections.size >= context.settings.maxSessions)
    return createTooManyRefusal('all')
  return context.quota.isFull(caller) ? createTooManyRefusal('own') : undefined
}

const RECHECK_MS = 30_000

interface OpenStream {
  readonly headers: RequestHeaders
  end(reason: string): void
}

/**
 * Long-lived responses and connections. Their callers are authenticated again every 30 s and on reload, to close
 * those with expired or revoked credentials.
 */
export class OpenStreams {
  readonly #gate: Gate
  readonly #open = new Set<OpenStream>()
  readonly #ticker: Ticker

  constructor(gate: Gate, clock: Clock) {
    this.#gate = gate
    this.#ticker = new Ticker(
      clock,
      () => RECHECK_MS,
      () => {
        this.recheck()
        return this.#open.size > 0
      },
    )
  }

  /** Registers a stream; call the returned function to remove it. `end` closes the stream. */
  add(headers: RequestHeaders, end: (reason: string) => void): () => void {
    const open: OpenStream = { headers, end }
    this.#open.add(open)
    this.#ticker.arm()
    return () => void this.#open.delete(open)
  }

  recheck(): void {
    for (const open of this.#open) void this.#check(open)
  }

  stop(): void {
    this.#ticker.stop()
    this.#open.clear()
  }

  async #check(open: OpenStream): Promise<void> {
    const { caller, credentials } = open.headers
    if (credentials === undefined) return
    const now = await this.#gate.authenticate(credentials)
    // Do not disconnect if authentication itself failed.
    const isUnsure = 'status' in now && now.status >= 500
    if (isUnsure || isSameCaller(caller, now) || !this.#open.delete(open)) return
    open.end('credentials expired or revoked')
  }
}

function isSameCaller(before: Principal, now: AuthResult): boolean {
  return !('status' in now) && authorizationKey(before) === authorizationKey(now)
}
