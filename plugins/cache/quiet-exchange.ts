import { type AskReply, type Exchange, type JsonObject, RPC, type Session } from '../../src/plugin.ts'

/** An exchange in somebody's session that nobody waits for: it cannot be cancelled, tells nothing, and asks nobody. */
export class QuietExchange implements Exchange {
  readonly id: number
  readonly session: Session
  readonly principal: Exchange['principal']
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly via: Exchange['via']
  readonly bytes: number
  readonly received: JsonObject | undefined
  readonly decidedBy = undefined
  readonly startedAt: number
  readonly slots: unknown[] = []
  readonly cancelled = false
  readonly asking = 0
  readonly canAsk = false
  params: JsonObject | undefined
  route: Exchange['route']
  readonly entry: Exchange['entry']
  readonly shown: Exchange['shown']
  readonly callTool: Exchange['callTool']
  answer: Exchange['answer'] = undefined
  /** True if the server made a request of the client: its answer is then nobody else's. */
  hasAsked = false

  constructor(of: Exchange, now: number) {
    this.id = of.id
    this.session = of.session
    this.principal = of.principal
    this.method = of.method
    this.headers = of.headers
    this.via = of.via
    this.bytes = of.bytes
    this.received = of.received
    this.startedAt = now
    this.params = of.params
    this.route = of.route
    this.entry = of.entry
    this.shown = kind => of.shown(kind)
    this.callTool = (name, args) => of.callTool(name, args)
  }

  get touched(): boolean {
    return this.hasAsked
  }

  get signal(): AbortSignal {
    return new AbortController().signal
  }

  onCancel(): () => void {
    return () => undefined
  }

  watchAsks(): void {
    // A quiet exchange asks nobody, so there is nothing to hear of.
  }

  unwatchAsks(): void {
    // A quiet exchange asks nobody, so there is nothing to hear of.
  }

  emit(): void {
    // Whoever asked has had the answer.
  }

  ask(): Promise<AskReply> {
    this.hasAsked = true
    return Promise.resolve({ error: { code: RPC.methodNotFound, message: 'nobody waits for this call' } })
  }
}
