import type { Answer, RpcError } from '../../api/index.ts'
import { gatewayError, GatewayError, reasonOf, ERRORS, type ErrorCode } from '../../errors/errors.ts'
import { Payload } from '../../protocol/payload.ts'
import type { Era } from '../../protocol/versions.ts'
import { plainFields } from './plain-fields.ts'

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

/** What was thrown, as plain data; only our own errors say more than that there was one. */
export function writeFailure(thrown: unknown): object {
  if (thrown instanceof GatewayError) return { code: thrown.code, fields: plainFields(thrown.fields) }
  return { code: 'GW_INTERNAL', fields: { cause: reasonOf(thrown) } }
}

export function readFailure(failure: { code?: unknown; fields?: Record<string, unknown> }): GatewayError {
  const { code, fields } = failure
  const isKnown = typeof code === 'string' && Object.hasOwn(ERRORS, code)
  return gatewayError(isKnown ? (code as ErrorCode) : 'GW_INTERNAL', fields ?? {})
}
