import { canonicalOr, isObject, METHODS, type Config, type JsonObject } from '../../src/plugin.ts'

type OwnName = (name: string) => string
type Section = 'tools' | 'prompts' | 'resources'
type OwnNames = Readonly<Record<Section, OwnName>>

/**
 * Turns parameters as clients write them into the upstream's own: renames are undone and its prefix taken off.
 * A name without the prefix passes as it is, so that `db_query` can be sent to an upstream that calls it just that.
 */
export function ownParams(
  config: Config,
): (upstream: string, method: string, params: JsonObject | undefined) => JsonObject | undefined {
  const all = new Map(Object.keys(config.upstreams).map(name => [name, ownNames(config, name)]))
  return (upstream, method, params) => {
    const own = all.get(upstream)
    const { kind, target } = METHODS.get(method) ?? {}
    if (own === undefined || params === undefined || target === undefined) return params
    if (target === 'uri') return renamed(params, 'uri', own.resources)
    if (target === 'name') return renamed(params, 'name', kind === 'prompts' ? own.prompts : own.tools)
    return isObject(params.ref) ? { ...params, ref: ownReference(params.ref, own) } : params
  }
}

function ownNames(config: Config, upstream: string): OwnNames {
  const prefix = config.upstreams[upstream]?.prefix ?? `${upstream}__`
  return {
    tools: ownName(config, upstream, 'tools', prefix),
    prompts: ownName(config, upstream, 'prompts', prefix),
    resources: ownName(config, upstream, 'resources', ''),
  }
}

function ownName(config: Config, upstream: string, section: Section, prefix: string): OwnName {
  const spelled = section === 'resources' ? canonicalOr : (name: string): string => name
  const undoFilters = undo(config.filters?.[section]?.rename, spelled)
  const undoOwn = undo(config.upstreams[upstream]?.[section]?.rename, spelled)
  return name => {
    const exposed = undoFilters(name) ?? name
    const bare = exposed.startsWith(prefix) ? exposed.slice(prefix.length) : exposed
    return undoOwn(bare) ?? bare
  }
}

function undo(
  rename: Readonly<Record<string, string>> | undefined,
  spelled: OwnName,
): (name: string) => string | undefined {
  const names = new Map(Object.entries(rename ?? {}).map(([from, to]) => [spelled(to), from]))
  return name => (names.size === 0 ? undefined : names.get(spelled(name)))
}

/** A completion is about a prompt by name, or a resource by URI. */
function ownReference(reference: JsonObject, own: OwnNames): JsonObject {
  return renamed(renamed(reference, 'name', own.prompts), 'uri', own.resources)
}

function renamed(params: JsonObject, member: 'name' | 'uri', own: OwnName): JsonObject {
  const name = params[member]
  if (typeof name !== 'string') return params
  const changed = own(name)
  return changed === name ? params : { ...params, [member]: changed }
}
