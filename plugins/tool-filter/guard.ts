import {
  canonicalOr,
  forbidsUris,
  globs,
  METHODS,
  refuse,
  RPC,
  type Answer,
  type Config,
  type Exchange,
} from '../../src/plugin.ts'

type Kind = 'tools' | 'prompts' | 'resources'
type Denied = (name: string) => boolean

/** The methods that reach something by its name. */
export const GUARDED: readonly string[] = [
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
]

/**
 * Refuses names that `filters` denies as if they did not exist. The catalog does so for what it lists; this is for a
 * name that `routes` sends past the catalog. Undefined when nothing is denied.
 */
export function refuseDenied(
  filters: Config['filters'],
): ((exchange: Exchange) => Answer | undefined) | undefined {
  const denied: Record<Kind, Denied> = {
    tools: test(filters?.tools, globs, name => name),
    prompts: test(filters?.prompts, globs, name => name),
    resources: test(filters?.resources, forbidsUris, canonicalOr),
  }
  if (Object.values(denied).every(isDenied => isDenied === nobody)) return undefined
  return exchange => {
    const { kind, target } = METHODS.get(exchange.method) ?? {}
    const name = target === undefined ? undefined : exchange.params?.[target]
    return typeof name === 'string' && denied[kind as Kind](name)
      ? UNKNOWN[kind as Kind](name, exchange)
      : undefined
  }
}

const UNKNOWN: Readonly<Record<Kind, (name: string, exchange: Exchange) => Answer>> = {
  tools: name => refuse(RPC.invalidParams, `Unknown tool: ${name}`),
  prompts: name => refuse(RPC.invalidParams, `Unknown prompt: ${name}`),
  resources: (uri, { session }) => {
    const code = session.client.era === 'legacy' ? RPC.legacyNoResource : RPC.invalidParams
    return refuse(code, `Resource not found: ${uri}`, { uri })
  },
}

interface Section {
  readonly deny?: readonly string[]
  readonly rename?: Readonly<Record<string, string>>
}

/** Filters speak of names before their own renames. */
function test(
  { deny = [], rename = {} }: Section = {},
  globsOf: typeof globs,
  spelled: (name: string) => string,
): Denied {
  if (deny.length === 0) return nobody
  const isDenied = globsOf(deny)
  const undo = new Map(Object.entries(rename).map(([from, to]) => [spelled(to), from]))
  return name => isDenied(undo.get(spelled(name)) ?? name)
}

function nobody(): boolean {
  return false
}
