import { readdirSync, readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse } from 'yaml'
import type { EraName, Transcript } from '../../cases/runner/transcript.ts'
import { messagesIn } from './mask.ts'

// Run as a process of its own, `record.ts CHECKOUT`: it plays the transcripts of that checkout with that checkout's
// sources, and writes on stdout what each socket was given, as JSON.

type Write = (
  chunk: Uint8Array | string,
  encoding: BufferEncoding,
  done: (error?: Error | null) => void,
) => void
type WriteMany = (chunks: readonly Chunk[], done: (error?: Error | null) => void) => void
interface Chunk {
  readonly chunk: Uint8Array | string
  readonly encoding: BufferEncoding
}

const [checkout = ''] = process.argv.slice(2)
const ERAS: readonly EraName[] = ['modern', 'legacy']
// Messages fetched in the background are there in one run and not in another, so those of all runs count.
const ROUNDS = 4
const streams = new Map<Socket, Buffer[]>()

keepWrites()
const { play } = (await import(pathToFileURL(join(checkout, 'test/cases/runner/run.ts')).href)) as {
  play(folder: string, transcript: Transcript, client: EraName, upstream: EraName): Promise<void>
}
const cases = join(checkout, 'test/cases')
const recorded: Record<string, string[]> = {}
for (const name of readdirSync(cases).filter(one => one !== 'runner')) {
  const transcript = parse(readFileSync(join(cases, name, 'transcript.yaml'), 'utf8')) as Transcript
  for (const client of transcript.clientEras ?? ERAS)
    for (const upstream of transcript.upstreamEras ?? ERAS) {
      const messages = new Set<string>()
      for (let round = 0; round < ROUNDS; round++) {
        await retried(() => play(join(cases, name), transcript, client, upstream))
        for (const message of [...streams.values()].flatMap(messagesIn)) messages.add(message)
      }
      recorded[`${name}: ${client} client, ${upstream} upstream`] = [...messages].sort()
    }
}
process.stdout.write(JSON.stringify(recorded), () => process.exit())

/** Plays again what failed, as some transcripts depend on how soon a step follows on another. */
async function retried(run: () => Promise<void>, times = 20): Promise<void> {
  streams.clear()
  try {
    await run()
  } catch (error) {
    if (times === 0) throw error
    await retried(run, times - 1)
  }
}

/** Keeps all that any socket of this process is given: requests and replies, of both sides of the gateway. */
function keepWrites(): void {
  const socket = Socket.prototype as unknown as { _write: Write; _writev: WriteMany }
  const { _write: write, _writev: writeMany } = socket
  socket._write = function (this: Socket, chunk, encoding, done) {
    keep(this, chunk, encoding)
    write.call(this, chunk, encoding, done)
  }
  socket._writev = function (this: Socket, chunks, done) {
    for (const { chunk, encoding } of chunks) keep(this, chunk, encoding)
    writeMany.call(this, chunks, done)
  }
}

function keep(socket: Socket, chunk: Uint8Array | string, encoding: BufferEncoding): void {
  const kept = streams.get(socket) ?? []
  streams.set(socket, kept)
  kept.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : Buffer.from(chunk))
}
