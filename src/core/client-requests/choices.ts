import type { Chooser, Gate } from '../../api/index.ts'
import type { Hooks } from '../../hooks/hooks.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'

/** Reads what a client chooses by the query of its URL, where a plugin knows the parameter; one that may not be chosen refuses the request. */
export function choicesIn(query: string, by: Chooser, hooks: Hooks): ReturnType<Gate['choices']> {
  let chosen: Record<string, string> | undefined
  for (const [name, value] of new URLSearchParams(query)) {
    const judge = hooks.runner('choice', name)
    if (judge === undefined) continue
    const why = chosen !== undefined && Object.hasOwn(chosen, name) ? 'stands there twice' : judge(value, by)
    if (why !== undefined) {
      const message = `Bad request: "${name}" of the URL ${why}`
      return { status: 400, error: rpcError(RPC.invalidRequest, message) }
    }
    // Without a prototype, as the names are the client's.
    chosen ??= Object.create(null) as Record<string, string>
    chosen[name] = value
  }
  return { chosen }
}
