import type { JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'

/** Links from a tool to its app in `_meta`, besides `ui.resourceUri`: an older draft, and the OpenAI Apps SDK. */
const FLAT_LINKS = ['ui/resourceUri', 'openai/outputTemplate']

/** Lists a tool's links to its app. */
export function listLinks({ _meta }: JsonObject): readonly string[] {
  if (!isObject(_meta)) return []
  const links = [...FLAT_LINKS.map(key => _meta[key]), isObject(_meta.ui) ? _meta.ui.resourceUri : undefined]
  return links.filter(link => typeof link === 'string').filter(link => /^ui:\/\//i.test(link))
}

/** Changes a tool's links to its app; returns the same object if none changes. */
export function changeLinks(tool: JsonObject, change: (uri: string) => string): JsonObject {
  const { _meta } = tool
  if (!isObject(_meta)) return tool
  const flat = changeMembers(_meta, FLAT_LINKS, change)
  const ui = isObject(flat.ui) ? changeMembers(flat.ui, ['resourceUri'], change) : flat.ui
  const meta = ui === flat.ui ? flat : { ...flat, ui }
  return meta === _meta ? tool : { ...tool, _meta: meta }
}

function changeMembers(object: JsonObject, keys: readonly string[], change: (uri: string) => string): JsonObject {
  let made = object
  for (const key of keys) {
    const uri = object[key]
    const changed = typeof uri === 'string' ? change(uri) : uri
    if (changed !== uri) made = { ...made, [key]: changed }
  }
  return made
}
