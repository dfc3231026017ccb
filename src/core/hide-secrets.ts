import type { Answer } from '../api/index.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { mayHaveMember, parseMembers, getMemberValue } from '../protocol/json/json-members.ts'
import type { Payload } from '../protocol/payload.ts'
import type { HideSecrets } from '../util/secrets.ts'
import { redactValue } from '../util/secrets.ts'

/** Members of a task's state that describe a failure. */
const ERROR_MEMBERS = ['error', 'statusMessage']

interface SecretHider {
  readonly hide: HideSecrets
}

/** Redacts the gateway's secrets from an answer's error: servers quote received data, credentials included. */
export function hideAnswerSecrets(answer: Answer, { hide }: SecretHider): Answer {
  if (!('error' in answer)) return answer
  const error = redactValue(answer.error, hide)
  return error === answer.error ? answer : { ...answer, error }
}

/** Redacts the state of a server's task in the same way. */
export function hideStateSecrets(state: JsonObject, { hide }: SecretHider): JsonObject {
  const redacted = ERROR_MEMBERS.filter(key => state[key] !== undefined).map(
    key => [key, redactValue(state[key], hide)] as const,
  )
  return redacted.every(([key, value]) => value === state[key]) ? state : { ...state, ...Object.fromEntries(redacted) }
}

/** Redacts a serialized state; its result is not parsed. */
export function hidePayloadSecrets(state: Payload, hiding: SecretHider): Payload {
  const bytes = state.bytes()
  if (!ERROR_MEMBERS.some(key => mayHaveMember(bytes, key))) return state
  const members = parseMembers(bytes)
  const failure: JsonObject = {}
  for (const key of ERROR_MEMBERS) {
    const text = getMemberValue(bytes, members, key)
    if (text !== undefined) failure[key] = JSON.parse(text.toString())
  }
  const redacted = hideStateSecrets(failure, hiding)
  return redacted === failure ? state : state.edit(ERROR_MEMBERS, redacted)
}
