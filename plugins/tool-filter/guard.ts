import { globs, METHODS, refuse, RPC, type Answer, type Config, type Exchange } from '../../src/plugin.ts'

const TEXT = { tools: 'Unknown tool', prompts: 'Unknown prompt', resources: 'Resource not found' } as const

type Denied = (name: string) => boolean

/** The methods that reach something by its name. */
export const GUARDED: readonly string[] = ['tools/call', 'prompts/get', 'resources/read', 'resources/subscribe']

/**
 * Refuses names that `filters` denies as if they did not exist. The catalog does so for what it lists; this is for a
 * name that `routes` sends past the catalog. Undefined when nothing is denied.
 */
export function refuseDenied(filters: Config['filters']): ((exchange: Exchange) => Answer | undefined) | undefined {
  const denied = { tools: test(filters?.tools), prompts: test(filters?.prompts), resources: test(filters?.resources) }
  if (Object.values(denied).every(isDenied => isDenied === undefined)) return undefined
  return exchange => {
    const { kind, target } = METHODS.get(exchange.method) ?? {}
    const name = target === undefined ? undefined : exchange.params?.[target]
    if (typeof name !== 'string' || kind === undefined || kind === 'resourceTemplates' || denied[kind]?.(name) !== true) return undefined
    if (kind !== 'resources') return refuse(RPC.invalidParams, `${TEXT[kind]}: ${name}`)
    return refuse(exchange.session.client.era === 'legacy' ? RPC.legacyNoResource : RPC.invalidParams, `${TEXT[kind]}: ${name}`, { uri: name })
  }
}

/** Filters speak of names before their own renames. */
function test(section: { readonly deny?: readonly string[]; readonly rename?: Readonly<Record<string, string>> } | undefined): Denied | undefined {
  if (section?.deny === undefined || section.deny.length === 0) return undefined
  const isDenied = globs(section.deny)
  const undo = new Map(Object.entries(section.rename ?? {}).map(([from, to]) => [to, from]))
  return name => isDenied(undo.get(name) ?? name)
}
