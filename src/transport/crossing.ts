import type { Ask, AskReply, JsonObject } from '../api/index.ts'
import { readWritten, writtenParams, type WrittenParams } from '../protocol/params-as-written.ts'

/** An ask that came from another process. */
export class CrossingAsk implements Ask {
  readonly method: string
  readonly params: JsonObject | undefined
  #why: string | undefined
  #listener: ((reason: string) => void)[] = []

  constructor(method: string, params: JsonObject | undefined) {
    this.method = method
    this.params = params
  }

  get isTakenBack(): boolean {
    return this.#why !== undefined
  }

  onTakeBack(listener: (reason: string) => void): void {
    if (this.#why === undefined) this.#listener.push(listener)
    else listener(this.#why)
  }

  /** Its reply is of no use any more. */
  end(why: string): void {
    if (this.#why !== undefined) return
    this.#why = why
    for (const listener of this.#listener.splice(0)) listener(why)
  }
}

/** Members that carry parameters to another process: as text where JavaScript would write them otherwise. */
export function writeParams(params: JsonObject | undefined, received = params): JsonObject {
  const written = writtenParams(params, received)
  return written === undefined ? { params } : { written }
}

/** Reads what `writeParams` wrote. */
export function readParams({ params, written }: JsonObject): JsonObject | undefined {
  return written === undefined ? (params as JsonObject | undefined) : readWritten(written as WrittenParams)
}

/** Members that carry a reply to another process. */
export function writeReply(reply: AskReply): JsonObject {
  return 'error' in reply ? { ...reply } : writeParams(reply.result)
}

/** Reads what `writeReply` wrote. */
export function readReply(said: JsonObject): AskReply {
  if (said.error !== undefined) return { error: said.error } as AskReply
  return { result: readParams(said) ?? {} }
}
