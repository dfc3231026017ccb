import { createParser } from 'eventsource-parser'
import type { Response } from 'undici'
import type { RpcId } from '../protocol/jsonrpc.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import type { RpcError } from '../protocol/rpc-error.ts'

/** Received JSON-RPC message. */
export interface ReceivedMessage {
  readonly id?: RpcId | null
  readonly method?: string
  readonly params?: JsonObject
  readonly result?: JsonObject
  readonly error?: RpcError
}

/** Reads the messages from an HTTP response, either a JSON document or an event stream. */
export async function* readMessages(response: Response): AsyncGenerator<ReceivedMessage> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') === true) yield* readEvents(response)
  else yield* parseDocument(await response.text())
}

function* parseDocument(body: string): Generator<ReceivedMessage> {
  try {
    const parsed: unknown = JSON.parse(body)
    for (const message of Array.isArray(parsed) ? (parsed as unknown[]) : [parsed]) if (isObject(message)) yield message
  } catch {
    // Non-JSON bodies have no message; the caller checks the status.
  }
}

async function* readEvents(response: Response): AsyncGenerator<ReceivedMessage> {
  const messages: ReceivedMessage[] = []
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data !== '') messages.push(JSON.parse(data) as ReceivedMessage)
    },
  })
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }))
    yield* messages.splice(0)
  }
}
