import { isObject, type JsonObject } from '../json/json.ts'
import { FORMS_SINCE, formFor } from './forms.ts'
import type { Reader } from './reader.ts'
import { RELATED_TASK } from './tasks.ts'
import { samplingFor, toLegacyReply } from './sampling.ts'

/** What a server asks, as far as its form matters here. */
interface Wanted {
  readonly method: string
  readonly params: JsonObject | undefined
}

/** An ask in the form of its client, and the way back for what the client says to it. */
export interface FittedAsk {
  readonly ask: Wanted
  read(result: JsonObject): JsonObject
}

/** An ask as this client reads it; the same object where nothing changes. Whether the client can be asked at all is said by `lacking`. */
export function askFor(ask: Wanted, reader: Reader): FittedAsk {
  const { method, params } = ask
  if (params === undefined) return { ask, read: asItIs }
  if (method === 'sampling/createMessage') {
    const fitted = samplingFor(params, reader)
    return { ask: fitted === params ? ask : { method, params: fitted }, read: asItIs }
  }
  if (method !== 'elicitation/create' || reader.version >= FORMS_SINCE) return { ask, read: asItIs }
  const form = formFor(params)
  return {
    ask: { method, params: form.params },
    read: result => (isObject(result.content) ? { ...result, content: form.read(result.content) } : result),
  }
}

function asItIs(result: JsonObject): JsonObject {
  return result
}

/** An ask as it stands in `inputRequests`: without what only a legacy request has. */
export function toModernAsk({ method, params }: Wanted): JsonObject {
  if (params === undefined) return { method, params: {} }
  const { elicitationId: _id, _meta, ...rest } = params
  const { progressToken: _token, [RELATED_TASK]: _task, ...meta } = isObject(_meta) ? _meta : {}
  return { method, params: Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta } }
}

/** What a client said to an ask, as a legacy server of this version reads it. */
export function replyFor(method: string, result: JsonObject, version: string): JsonObject {
  return method === 'sampling/createMessage' ? toLegacyReply(result, version) : result
}
