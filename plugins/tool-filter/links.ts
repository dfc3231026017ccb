import { isObject, type JsonObject } from '../../src/plugin.ts'

/** Where an older MCP Apps draft put the link. */
const FLAT = 'ui/resourceUri'

/** A tool's description with the links of its user interface (MCP Apps) changed; the same object where none does. */
export function withLinks(tool: JsonObject, rename: (uri: string) => string): JsonObject {
  const { _meta } = tool
  if (!isObject(_meta)) return tool
  const ui = isObject(_meta.ui) ? changed(_meta.ui, 'resourceUri', rename) : _meta.ui
  const meta = changed(ui === _meta.ui ? _meta : { ..._meta, ui }, FLAT, rename)
  return meta === _meta ? tool : { ...tool, _meta: meta }
}

function changed(object: JsonObject, key: string, rename: (uri: string) => string): JsonObject {
  const uri = object[key]
  if (typeof uri !== 'string') return object
  const renamed = rename(uri)
  return renamed === uri ? object : { ...object, [key]: renamed }
}
