import { tooMany, type Refusal, refusal } from '../request-guard.ts'
import type { Clock, Principal, Gate, Log } from '../../../api/index.ts'
import { RPC } from '../../../protocol/rpc-error.ts'
import type { Channel } from '../../../transport/channel.ts'
import { type Callers } from '../../client/session-quota.ts'
import { Pipe, type PipeOptions } from '../../duplex/duplex-connection.ts'

const MAX_SWEEP_MS = 30_000

/** A channel over one connection of an HTTP listener. */
export interface NetworkChannel extends Channel {
  /** Resolves when the connection is gone. */
  close(): Promise<void>
}

type BeginOptions = Pick<PipeOptions, 'isLegacyOnly' | 'label' | 'profile'> & {
  readonly principal: Principal
}

/** What connections need of their listener. */
export interface ConnectionContext {
  readonly name: string
  readonly gate: Gate
  readonly log: Log
  readonly clock: Clock
  readonly callers: Callers
  readonly isStopping: boolean
  readonly sessions: { readonly size: number }
  readonly pipes: { readonly size: number }
  readonly settings: { readonly maxSessions: number }
}

/** The conversations of an HTTP listener that have a connection of their own: event streams and WebSockets. */
export class Conversations {
  readonly #open = new Map<Pipe, Promise<void>>()
  readonly #clock: Clock
  /** Another after a reload. */
  idleMs: number
  #takeBack: (() => void) | undefined

  /** Those in which nothing happens for `idleMs` end: their clients may be long gone. */
  constructor(clock: Clock, idleMs: number) {
    this.#clock = clock
    this.idleMs = idleMs
  }

  get size(): number {
    return this.#open.size
  }

  begin(
    { name, gate, log, clock, callers }: ConnectionContext,
    channel: NetworkChannel,
    options: BeginOptions,
  ): void {
    const pipe = new Pipe({ channel, context: { name, gate, log, clock }, graceMs: 0, ...options })
    const { principal } = options
    callers.count(principal, 1)
    this.#open.set(
      pipe,
      this.#follow(pipe, channel).finally(() => callers.count(principal, -1)),
    )
    pipe.start()
    this.#arm()
  }

  /** Lets what is under way end within `graceMs`, then cuts it. */
  async stop(graceMs: number): Promise<void> {
    this.#takeBack?.()
    for (const pipe of this.#open.keys()) void pipe.end('shutdown', graceMs)
    await Promise.all(this.#open.values())
  }

  #arm(): void {
    this.#takeBack ??= this.#clock.after(Math.min(this.idleMs, MAX_SWEEP_MS), () => {
      this.#takeBack = undefined
      const before = this.#clock.now() - this.idleMs
      for (const pipe of this.#open.keys())
        if (pipe.idleSince !== undefined && pipe.idleSince <= before) void pipe.end('idle', 0)
      if (this.#open.size > 0) this.#arm()
    })
  }

  async #follow(pipe: Pipe, channel: NetworkChannel): Promise<void> {
    await pipe.ended
    await channel.close()
    this.#open.delete(pipe)
  }
}

/** Why no conversation may begin; undefined when one may. */
export function conversationProblem(httpContext: ConnectionContext, caller: Principal): Refusal | undefined {
  if (httpContext.isStopping)
    return { ...refusal(503, 'The gateway is stopping', RPC.internal), headers: { connection: 'close' } }
  if (httpContext.sessions.size + httpContext.pipes.size >= httpContext.settings.maxSessions)
    return tooMany('all')
  return httpContext.callers.isFull(caller) ? tooMany('own') : undefined
}
