import { isObject, type JsonObject } from '../../protocol/json/json.ts'
import { convert } from './server.ts'

/** Who hears what becomes of the servers. */
export interface Hearing {
  note(name: string, text: string): void
  leave(name: string, key: string): void
}

/** A file that says which tools are remote and which servers are local. */
export function isSplit(settings: JsonObject): boolean {
  return isObject(settings.localServers) || Array.isArray(settings.remoteTools)
}

/** The configuration of a local gateway in front of a remote one, with the names as they are. */
export function splitConfig(settings: JsonObject, remote: string, { note, leave }: Hearing): JsonObject {
  const locals = Object.entries(isObject(settings.localServers) ? settings.localServers : {})
  const upstreams: JsonObject = {}
  for (const [name, server] of locals) {
    if (!isObject(server)) continue
    const { workingDirectory, ...rest } = server
    const converted = convert(rest, 'braces', {
      note: text => note(name, text),
      leave: key => leave(name, key),
    })
    if ('why' in converted) note(name, `left out: ${converted.why}`)
    else upstreams[name] = { ...converted.upstream, prefix: '', ...directoryOf(workingDirectory) }
  }
  const tools = Array.isArray(settings.remoteTools) ? settings.remoteTools.map(String) : undefined
  if (tools === undefined) return { upstreams }
  upstreams.remote = { type: 'http', url: remote, prefix: '', tools: { allow: tools } }
  return { upstreams, sessionHeaders: { upstreams: ['remote'] } }
}

/** `project_root` is where the client works. */
function directoryOf(value: unknown): JsonObject {
  if (typeof value !== 'string') return {}
  return { cwd: /^\$?\{?project_?root\}?$/i.test(value) ? 'project' : value }
}
