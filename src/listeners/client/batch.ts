import type { RpcMessage } from '../../protocol/jsonrpc.ts'
import { parseMessage } from '../../protocol/jsonrpc.ts'
import type { MemoryShare } from '../../net/backlog.ts'
import { stripBom, joinPieces, getByteLength } from '../../util/messages.ts'
import type { EncodedMessage } from '../../util/messages.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { scanArray, ScanError } from '../../protocol/json/scan-json.ts'
import { claimsModern } from './client-protocol.ts'
import type { ResponseWriter } from './inbound-request.ts'

const MAX_BATCH = 100
/** Buffered answers per batch, in bytes. */
const MAX_WAITING = 16 * 1024 * 1024

/** Parses a JSON-RPC batch (2025-03-26); returns the error to answer if it is invalid. */
export function parseBatch(received: Buffer): readonly RpcMessage[] | RpcError {
  const bytes = stripBom(received)
  const spans: (readonly [start: number, end: number])[] = []
  try {
    scanArray(bytes, (start, end) => {
      if (spans.push([start, end]) > MAX_BATCH) throw new ScanError('too many')
    })
  } catch (error) {
    if (spans.length > MAX_BATCH)
      return rpcError(RPC.invalidRequest, `Invalid request: a batch has at most ${MAX_BATCH} messages`)
    if (error instanceof ScanError) return rpcError(RPC.parse, `Parse error: ${error.message}`)
    throw error
  }
  if (spans.length === 0) return rpcError(RPC.invalidRequest, 'Invalid request: the batch is empty')
  const messages = spans.map(([start, end]) => parseMessage(bytes.subarray(start, end)))
  return messages.some(isMisplaced)
    ? rpcError(RPC.invalidRequest, 'Invalid request: initialize and messages of 2026-07-28 cannot be batched')
    : messages
}

function isMisplaced(message: RpcMessage): boolean {
  if (message.kind !== 'request' && message.kind !== 'notification') return false
  return message.method === 'initialize' || claimsModern(message.params)
}

/** Joins the answers to a batch into one array. Messages ahead of the answers need a connection of several requests. */
export class BatchWriter implements ResponseWriter {
  readonly isShared = true
  readonly #writer: ResponseWriter
  readonly #expected: number
  readonly #hold: MemoryShare | undefined
  #waiting = 0
  #answers: (Buffer | string)[] = []
  #count = 0

  constructor(writer: ResponseWriter, messages: readonly RpcMessage[], hold?: MemoryShare) {
    this.#writer = writer
    this.#hold = hold
    this.#expected = messages.filter(({ kind }) => kind === 'request' || kind === 'malformed').length
  }

  /** True if the batch holds no request that needs an answer. */
  get isEmpty(): boolean {
    return this.#expected === 0
  }

  get canStream(): boolean {
    return this.#writer.isShared && this.#writer.canStream
  }

  notify(message: string): void {
    if (this.canStream) this.#writer.notify(message)
  }

  send(message: Buffer | string): boolean {
    return this.canStream && this.#writer.send(message)
  }

  canBuffer(answer: EncodedMessage): boolean {
    return this.#waiting + getByteLength(answer) <= MAX_WAITING
  }

  prime(): void {
    // Batches (2025-03-26) predate resumable streams.
  }

  onLost(listener: () => void): void {
    this.#writer.onLost(listener)
  }

  finish(_status: number, message: EncodedMessage): void {
    const answer = joinPieces(message)
    this.#answers.push(answer)
    this.#waiting += answer.length
    this.#hold?.set(this.#waiting)
    if (++this.#count < this.#expected) return
    this.#hold?.release()
    this.#writer.finish(200, joinAnswers(this.#answers))
  }
}

function joinAnswers(answers: readonly (Buffer | string)[]): Buffer {
  const parts = answers.flatMap((answer, index) => [
    index === 0 ? OPEN : COMMA,
    typeof answer === 'string' ? Buffer.from(answer) : answer,
  ])
  return Buffer.concat([...parts, CLOSE])
}

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')
