import { PassThrough } from 'node:stream'
import type { Clock, Listener } from '../../../../src/api/index.ts'
import { stdioListener } from '../../../../src/listeners/stdio/stdio-listener.ts'
import { FakeGate, makeListener, realClock } from '../http/fake-gate.ts'
import { envelope, Lines, parse, type Message } from '../http/client.ts'

export type Sent = Record<string, unknown>

export interface PipeClient {
  readonly gate: FakeGate
  readonly input: PassThrough
  readonly output: PassThrough
  readonly listener: Listener
  write(text: string): void
  /** One line for each message. */
  send(...messages: Sent[]): void
  next(): Promise<Message>
}

/** A client on a pair of streams, with a fake gate behind the listener. */
export async function pipe({
  highWaterMark,
  grace = 5000,
  clock = realClock,
}: { highWaterMark?: number; grace?: number; clock?: Clock } = {}): Promise<PipeClient> {
  const gate = new FakeGate()
  const input = new PassThrough()
  const output = new PassThrough(highWaterMark === undefined ? {} : { highWaterMark })
  const listener = makeListener(stdioListener({ input, output }), { type: 'stdio' }, gate, clock, {
    shutdown: { grace },
  })
  await listener.start()
  let lines: Lines | undefined
  return {
    gate,
    input,
    output,
    listener,
    write: text => void input.write(text),
    send: (...messages) =>
      void input.write(messages.map(message => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('')),
    async next() {
      lines ??= new Lines(output)
      return parse(await lines.next())
    },
  }
}

export function modern(method: string, id: unknown, extra: object = {}, params: object = {}): Sent {
  return { id, method, params: { ...params, _meta: envelope(extra) } }
}
