import type { IncomingMessage } from 'node:http'
import type { Credentials, Principal, Refusal } from '../../api/index.ts'
import type { HttpContext } from './context.ts'
import type { RequestHeaders } from './request-headers.ts'

type Caller = Principal | Refusal

/** Whose a request is, or why it goes no further. At once where no plugin asks. */
export function identify(
  context: HttpContext,
  request: IncomingMessage,
  headers: RequestHeaders,
): Caller | Promise<Caller> {
  headers.credentials = credentialsOf(context, request)
  return context.gate.authenticate(headers.credentials)
}

/** What a plugin may know of a request before its body is read. */
export function credentialsOf({ name, endpoint }: HttpContext, request: IncomingMessage): Credentials {
  const { rawHeaders, socket, method = 'GET', url = '/' } = request
  return {
    listener: name,
    method,
    path: pathOf(url),
    endpoint,
    remoteAddress: socket.remoteAddress,
    header: wanted => valuesOf(rawHeaders, wanted.toLowerCase()),
  }
}

function valuesOf(raw: readonly string[], wanted: string): string[] {
  return raw.filter((_value, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === wanted)
}

export function pathOf(url: string): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}

export function isPromise<T extends object>(value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise
}
