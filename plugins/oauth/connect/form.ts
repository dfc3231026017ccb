import type { HttpRequest } from '../../../src/plugin.ts'

const MAX_FORM = 4096

/** The fields of a form that was sent; undefined for anything else. */
export async function formOf(request: HttpRequest): Promise<URLSearchParams | undefined> {
  const [type = ''] = request.header('content-type')
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) return undefined
  const body = await request.body()
  return body.length > MAX_FORM ? undefined : new URLSearchParams(body.toString('utf8'))
}
