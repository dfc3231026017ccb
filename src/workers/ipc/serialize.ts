import type { Answer, JsonObject, Notification, RpcError, Session, SessionInit } from '../../api/index.ts'
import { errorEntry, GatewayError, reasonOf } from '../../errors/errors.ts'
import { Payload } from '../../protocol/payload.ts'
import type { Era } from '../../protocol/versions.ts'
import { PipelineSession } from '../../core/session.ts'

const SORTS = ['result', 'error', 'input', 'task'] as const

const ERAS: readonly (Era | undefined)[] = [undefined, 'legacy', 'modern']

/** An answer as it crosses: what it is in two bytes, then the bytes it came in. */
export function writeAnswer(answer: Answer): readonly [head: Buffer, body: Buffer] {
  if ('error' in answer) return [Buffer.of(1, 0), Buffer.from(JSON.stringify([answer.error, answer.http]))]
  const [sort, payload] =
    'result' in answer
      ? ([0, answer.result] as const)
      : 'input' in answer
        ? ([2, answer.input] as const)
        : ([3, answer.task] as const)
  return [Buffer.of(sort, ERAS.indexOf(payload.era)), payload.bytes()]
}

export function readAnswer(frame: Buffer): Answer {
  const sort = SORTS[frame[0] ?? 0] ?? 'error'
  const body = frame.subarray(2)
  if (sort === 'error') {
    const [error, http] = JSON.parse(body.toString()) as [RpcError, { status: number } | null | undefined]
    return http === null || http === undefined ? { error } : { error, http }
  }
  const payload = Payload.raw(body, ERAS[frame[1] ?? 0])
  if (sort === 'result') return { result: payload }
  return sort === 'input' ? { input: payload } : { task: payload }
}

/** Turns what was thrown into plain data; only our own errors say more than that there was one. */
export function writeFailure(thrown: unknown): object {
  if (thrown instanceof GatewayError)
    return { code: thrown.code, fields: plainFields({ ...thrown.fields, detail: thrown.detail }) }
  return { code: 'GW_INTERNAL', fields: { cause: reasonOf(thrown) } }
}

export function readFailure(failure: { code?: unknown; fields?: Record<string, unknown> }): GatewayError {
  const { code, fields } = failure
  return new GatewayError(errorEntry(code) === undefined ? 'GW_INTERNAL' : String(code), fields)
}

/** Fields of an error that can go to another process; what caused it becomes its text. */
function plainFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const plain = Object.entries(fields).map(([key, value]) => [
    key,
    value instanceof Error ? value.message : value,
  ])
  return JSON.parse(JSON.stringify(Object.fromEntries(plain))) as Record<string, unknown>
}

/** A session as another process needs to know it. */
export function writeSession({ id, listener, principal, client, label, profile }: Session): JsonObject {
  return { id, listener, principal, client, label, profile }
}

/** The same there. Who may write to the line is one of us, so what it says of the caller has been verified. */
export function readSession(written: unknown, notify: (notification: Notification) => boolean): Session {
  return new PipelineSession({ ...(written as Omit<SessionInit, 'notify'>), notify })
}
