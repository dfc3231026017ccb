import { isObject, type JsonObject } from '../../protocol/json/json.ts'

/**
 * Claude Code keeps what belongs to one project beside what belongs to its user, by the project's directory; its own
 * `mcp add` does so unless told otherwise. These are the servers that it has in `directory`.
 */
export function ofProject(
  settings: JsonObject,
  directory: string,
  note: (name: string, text: string) => void,
): JsonObject {
  if (!isObject(settings.projects)) return settings
  let mcpServers = isObject(settings.mcpServers) ? settings.mcpServers : {}
  for (const [project, own] of Object.entries(settings.projects)) {
    const servers = isObject(own) && isObject(own.mcpServers) ? own.mcpServers : {}
    const names = Object.keys(servers)
    if (project === directory) mcpServers = { ...mcpServers, ...servers }
    else if (names.length > 0)
      note(names.join(', '), `left out: of the project ${project}; run "gateway import" there`)
  }
  return { ...settings, mcpServers }
}
