import { withoutDeepEntries } from '../../protocol/broken-message.ts'
import { parseMessage, type RpcResponse } from '../../protocol/jsonrpc.ts'
import { METHODS } from '../../protocol/methods.ts'
import type { Era } from '../../protocol/versions.ts'
import type { Drops } from '../../transport/unexpected-messages.ts'

/** A list that was refused, without the entries that nest too deep: one of them does not hide the others. */
export function shortenedList(
  method: string,
  bytes: Buffer,
  era: Era | undefined,
  drops: Drops,
): RpcResponse | undefined {
  if (METHODS.get(method)?.to !== 'list') return undefined
  const { bytes: rest, withheld } = withoutDeepEntries(bytes)
  const message = withheld.length === 0 ? undefined : parseMessage(rest, era)
  if (message?.kind !== 'response') return undefined
  for (const entry of withheld) drops.count('entry', () => entry.toString('utf8', 0, 400))
  return message
}
