import type { RpcId } from './jsonrpc.ts'

const VERSION = String.raw`"jsonrpc"\s*:\s*"2\.0"\s*`
const ID = String.raw`"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,64}")\s*`
const OUTCOME = String.raw`"(?:result|error)"\s*:`
/** The start of a reply with its id, the start of any reply, and the end of a reply with its id. */
const HEAD_WITH_ID = new RegExp(String.raw`^\s*\{\s*(?:${VERSION},\s*)?${ID},\s*(?:${VERSION},\s*)?${OUTCOME}`)
const HEAD = new RegExp(String.raw`^\s*\{\s*(?:${VERSION},\s*)?${OUTCOME}`)
const TAIL = new RegExp(String.raw`${ID}(?:,\s*${VERSION})?\}\s*$`)
const MAX_HEAD = 512

/**
 * Finds the request id in a reply that is invalid, or of which only the two ends are available: undefined if it is not
 * a reply, null if its id is unknown.
 */
export function findReplyId(head: Buffer, tail = head): RpcId | null | undefined {
  const start = head.toString('latin1', 0, MAX_HEAD)
  const own = HEAD_WITH_ID.exec(start)
  if (own === null && !HEAD.test(start)) return undefined
  const id = own?.[1] ?? TAIL.exec(tail.toString('latin1', Math.max(0, tail.length - MAX_HEAD)))?.[1]
  return id === undefined ? null : (JSON.parse(id) as RpcId)
}
