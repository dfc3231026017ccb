import type { JsonObject } from '../../protocol/json/json.ts'
import { plural } from '../../util/plain-text.ts'
import { tokensIn } from '../../util/units.ts'

/** A tool with what it costs the context of a model. */
export interface Costed {
  readonly upstream: string | undefined
  readonly tokens: number
}

/** Cost of a list, server by server, the dearest first. */
export interface TokenSums {
  readonly total: number
  readonly upstreams: Readonly<Record<string, { readonly tools: number; readonly tokens: number }>>
}

/** The tokens of a tool in a list, as estimated. */
export function withTokens<T extends JsonObject & { readonly upstream: string | undefined }>(
  tool: T,
): T & Costed {
  const { upstream: _, ...shown } = tool
  return { ...tool, tokens: tokensIn(JSON.stringify(shown)) }
}

export function sumsOf(tools: readonly Costed[]): TokenSums {
  const groups = [...Map.groupBy(tools, ({ upstream }) => upstream ?? '')]
    .map(([name, own]) => [name, { tools: own.length, tokens: sum(own) }] as const)
    .sort(([, one], [, other]) => other.tokens - one.tokens)
  return { total: sum(tools), upstreams: Object.fromEntries(groups) }
}

/** One line for each server, and one for all. */
export function sumLines({ total, upstreams }: TokenSums): string[] {
  const rows = Object.entries(upstreams).map(
    ([name, { tools, tokens }]) => `${name}: ${plural(tools, 'tool')}, ${plural(tokens, 'token')}`,
  )
  return [...rows, `all: ${plural(total, 'token')}, as estimated`]
}

function sum(tools: readonly Costed[]): number {
  return tools.reduce((all, { tokens }) => all + tokens, 0)
}
