import { setTimeout as pause } from 'node:timers/promises'
import { isObject, type JsonObject } from '../../protocol/json/json.ts'
import { textAt, valueAt } from '../../util/plain-data.ts'
import { oneLine } from '../../util/plain-text.ts'
import type { Terminal } from '../output/terminal.ts'
import type { AskedGateway, AskFlags } from './ask-gateway.ts'

/** Time until a call is slow enough to ask why, and between two looks. */
const LOOK_MS = 400

/**
 * Runs a call of a tool, and says on stderr, once, when it waits for somebody's approval, and how to give that: whoever
 * typed it may be the one who is waited for.
 */
export async function withWaitingSaid<T>(
  tool: string,
  asked: AskedGateway,
  flags: AskFlags,
  { err }: Terminal,
  call: () => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const say = (rows: readonly JsonObject[]): void =>
    err.line(`${err.paint('yellow', 'waiting')} ${waitingText(rows, asked.isOwn, flags)}`)
  void look(tool, asked, say, over.signal)
  try {
    return await call()
  } finally {
    over.abort()
  }
}

/** Looks until the call waits or is over. Never rejects: a call is as good without it. */
async function look(
  tool: string,
  asked: AskedGateway,
  say: (rows: readonly JsonObject[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const since = Date.now()
  try {
    await pause(LOOK_MS, undefined, { signal })
    // A verb that a gateway has not would be a line of its audit.
    if (valueAt((await asked.inspect()).config, 'approve') === undefined) return
    for (;;) {
      const { approvals } = await asked.control('approvals.list', {})
      if (signal.aborted) return
      const rows = Array.isArray(approvals) ? approvals.filter(isObject) : []
      const own = rows.filter(row => row['name'] === tool && Date.parse(textAt(row, 'since') ?? '') >= since)
      if (own.length > 0) return say(own)
      await pause(LOOK_MS, undefined, { signal })
    }
  } catch {
    // The call is over, or its gateway does not say.
  }
}

/** `for an approval (rule "money"): gateway approvals approve k3J9xQ2b7Zpw, or deny` */
function waitingText([row, ...others]: readonly JsonObject[], isOwn: boolean, flags: AskFlags): string {
  const text = `for an approval (rule "${oneLine(textAt(row, 'rule') ?? '')}")`
  if (isOwn)
    return `${text}, which gateway approvals cannot give in a gateway of this call alone: gateway up, then call again`
  const same = (['config', 'env', 'socket'] as const).flatMap(flag =>
    flags[flag] === undefined ? [] : [` --${flag} ${oneLine(flags[flag])}`],
  )
  // Another call of the same tool began to wait at the same time.
  if (others.length > 0) return `${text}: gateway approvals list${same.join('')} shows it`
  return `${text}: gateway approvals approve ${oneLine(textAt(row, 'id') ?? '')}${same.join('')}, or deny`
}
