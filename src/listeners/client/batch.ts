import { parseMessage, type Message } from '../../protocol/jsonrpc.ts'
import { RPC, rpcError, type RpcError } from '../../protocol/rpc-error.ts'
import { scanArray, ScanError } from '../../protocol/json/scan.ts'
import { claimsModern } from './client-info.ts'

const MAX_BATCH = 100

/** The messages of a JSON-RPC batch (2025-03-26), or the error that answers the whole of it. */
export function parseBatch(bytes: Buffer): readonly Message[] | RpcError {
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
    ? rpcError(
        RPC.invalidRequest,
        'Invalid request: neither initialize nor a message of 2026-07-28 may stand in a batch',
      )
    : messages
}

function isMisplaced(message: Message): boolean {
  if (message.kind !== 'request' && message.kind !== 'notification') return false
  return message.method === 'initialize' || claimsModern(message.params)
}

/** How many messages of a batch get an answer. */
export function answersOf(messages: readonly Message[]): number {
  return messages.filter(message => message.kind === 'request' || message.kind === 'malformed').length
}

/** Gathers the answers of a batch until the last one is there. */
export class BatchAnswers {
  readonly #parts: (Buffer | string)[] = []
  readonly #expected: number
  #count = 0

  constructor(expected: number) {
    this.#expected = expected
  }

  get isComplete(): boolean {
    return this.#count === this.#expected
  }

  add(answer: Buffer | string): void {
    this.#parts.push(answer)
    this.#count++
  }

  /** What was gathered so far, once. */
  take(): (Buffer | string)[] {
    return this.#parts.splice(0)
  }

  /** The JSON array of what was gathered. */
  asArray(): Buffer {
    const answers = this.take().map(answer => (typeof answer === 'string' ? Buffer.from(answer) : answer))
    const parts = answers.flatMap((answer, index) => [index === 0 ? OPEN : COMMA, answer])
    return Buffer.concat([...parts, CLOSE])
  }
}

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')
