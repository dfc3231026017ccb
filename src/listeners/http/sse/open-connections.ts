import type { Clock, Principal } from '../../../api/index.ts'
import type { HttpEdge } from '../context.ts'
import { refusal, type Refusal } from '../request-guard.ts'
import { RPC } from '../../../protocol/rpc-error.ts'
import { Pipe, type PipeOptions } from '../../duplex/duplex-connection.ts'
import type { Channel } from '../../../transport/channel.ts'

const MAX_SWEEP_MS = 30_000

/** A channel over one connection of an HTTP listener. */
export interface NetworkChannel extends Channel {
  /** Resolves when the connection is gone. */
  close(): Promise<void>
}

type BeginOptions = Pick<PipeOptions, 'isLegacyOnly' | 'label' | 'profile'> & {
  readonly principal: Principal
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

  begin({ name, gate, log, clock, callers }: HttpEdge, channel: NetworkChannel, options: BeginOptions): void {
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
export function conversationProblem(edge: HttpEdge, caller: Principal): Refusal | undefined {
  if (edge.isStopping)
    return { ...refusal(503, 'The gateway is stopping', RPC.internal), headers: { connection: 'close' } }
  if (edge.sessions.size + edge.pipes.size >= edge.settings.maxSessions) return tooMany('all')
  return edge.callers.isFull(caller) ? tooMany('own') : undefined
}

/** Whose limit is reached: that of all, or of this caller. */
export function tooMany(whose: 'all' | 'own'): Refusal {
  const full =
    whose === 'all'
      ? refusal(503, 'Too many sessions; try again later', RPC.internal)
      : refusal(429, 'Too many sessions of yours; end one, or try again later', RPC.internal)
  return { ...full, headers: { 'retry-after': '30' } }
}
