import { isObject } from '../json/json.ts'
import { RPC, type RpcError } from '../rpc-error.ts'
import { isPage } from '../safe-urls.ts'
import { LATEST_LEGACY_VERSION } from '../versions.ts'
import type { Reader } from './reader.ts'

/** URLs named in one text. */
const MAX_URLS = 16

/** Whether this client knows the error that asks for a URL to be opened first (2025-11-25 only). */
export function canOpenUrls({ era, version, capabilities }: Reader): boolean {
  const { elicitation } = capabilities
  return (
    era === 'legacy' && version >= LATEST_LEGACY_VERSION && isObject(elicitation) && isObject(elicitation.url)
  )
}

/** The error without pages that no client should open; a plain error where no other is left. */
export function withSafeUrls(error: RpcError): RpcError {
  const { elicitations } = isObject(error.data) ? error.data : {}
  if (!Array.isArray(elicitations)) return error
  const safe = (elicitations as unknown[]).filter(
    one => !isObject(one) || typeof one.url !== 'string' || isPage(one.url),
  )
  if (safe.length === elicitations.length) return error
  return safe.length === 0
    ? { code: RPC.internal, message: error.message }
    : { ...error, data: { ...(error.data as object), elicitations: safe } }
}

/** The same error for clients that do not: with the URLs in its text, where a person may find them. */
export function withUrls(error: RpcError): RpcError {
  const elicitations = isObject(error.data) ? error.data.elicitations : undefined
  const urls = (Array.isArray(elicitations) ? (elicitations as unknown[]) : [])
    .map(elicitation => (isObject(elicitation) ? elicitation.url : undefined))
    .filter(isPage)
    .slice(0, MAX_URLS)
  const text = urls.length === 0 ? '' : ` – open first: ${urls.join(' ')}`
  return { ...error, code: RPC.internal, message: error.message + text }
}
