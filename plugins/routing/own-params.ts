import { isObject, METHODS, type Config, type JsonObject } from '../../src/plugin.ts'

type OwnName = (name: string) => string
type Named = 'tools' | 'prompts'

/**
 * Turns parameters as clients write them into the upstream's own: renames are undone and its prefix taken off.
 * A name without the prefix passes as it is, so that `db_query` can be sent to an upstream that calls it just that.
 */
export function ownParams(config: Config): (upstream: string, method: string, params: JsonObject | undefined) => JsonObject | undefined {
  const ownNames = new Map(Object.keys(config.upstreams).map(name => [name, { tools: ownName(config, name, 'tools'), prompts: ownName(config, name, 'prompts') }]))
  return (upstream, method, params) => {
    const own = ownNames.get(upstream)
    const row = METHODS.get(method)
    if (own === undefined || params === undefined) return params
    if (row?.target === 'ref') return withOwnReference(params, own.prompts)
    if (row?.target !== 'name' || typeof params.name !== 'string') return params
    return renamed(params, row.kind === 'prompts' ? own.prompts(params.name) : own.tools(params.name))
  }
}

function ownName(config: Config, upstream: string, kind: Named): OwnName {
  const spec = config.upstreams[upstream]
  const prefix = spec?.prefix ?? `${upstream}__`
  const undoFilters = undo(config.filters?.[kind]?.rename)
  const undoOwn = undo(spec?.[kind]?.rename)
  return name => {
    const exposed = undoFilters.get(name) ?? name
    const bare = exposed.startsWith(prefix) ? exposed.slice(prefix.length) : exposed
    return undoOwn.get(bare) ?? bare
  }
}

function undo(rename: Readonly<Record<string, string>> | undefined): ReadonlyMap<string, string> {
  return new Map(Object.entries(rename ?? {}).map(([from, to]) => [to, from]))
}

function withOwnReference(params: JsonObject, own: OwnName): JsonObject {
  const { ref } = params
  return isObject(ref) && typeof ref.name === 'string' ? { ...params, ref: renamed(ref, own(ref.name)) } : params
}

function renamed(params: JsonObject, name: string): JsonObject {
  return params.name === name ? params : { ...params, name }
}
