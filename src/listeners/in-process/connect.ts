import { type ConnectOptions, type Connection, type RequestOptions, RpcFailure } from '../../api/gateway.ts'
import type { Answer, ClientSide, Gate } from '../../api/index.ts'
import { ANONYMOUS } from '../../plugin.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import type { Payload } from '../../protocol/payload.ts'
import { MODERN_VERSION } from '../../protocol/versions.ts'
import { payloadOf } from '../client/encode-answer.ts'
import { randomUUID } from 'node:crypto'

/** A client inside the process, on the same pipeline as any other: modern, one session. */
export async function connect(gate: Gate, { client = gate.info }: ConnectOptions): Promise<Connection> {
  const side: ClientSide = {
    info: client,
    capabilities: {},
    version: MODERN_VERSION,
    era: 'modern',
    logLevel: undefined,
  }
  const session = await gate.openSession({
    id: randomUUID(),
    listener: 'in-process',
    principal: ANONYMOUS,
    client: side,
    notify: () => false,
  })

  async function raw(method: string, params?: JsonObject, options: RequestOptions = {}): Promise<Payload> {
    const { answer, cancel } = gate.run(session, {
      method,
      params,
      emit: notification => options.onNotification?.(notification),
    })
    const abort = (): void => cancel('aborted')
    options.signal?.addEventListener('abort', abort, { once: true })
    if (options.signal?.aborted === true) abort()
    try {
      return payloadOrThrow(await answer)
    } finally {
      options.signal?.removeEventListener('abort', abort)
    }
  }

  return {
    raw,
    request: async (method, params, options) => (await raw(method, params, options)).value(),
    close: () => gate.closeSession(session, 'closed'),
  }
}

function payloadOrThrow(answer: Answer): Payload {
  if ('error' in answer) throw new RpcFailure(answer.error)
  return payloadOf(answer)
}
