import type { CatalogEntry, JsonObject } from '../../../src/plugin.ts'
import { liveServers } from '../../fixtures/live-mcp-tool/index.ts'

/** A tool as the catalog has it. */
export function entryOf(upstream: string, value: JsonObject & { readonly name: string }): CatalogEntry {
  return { kind: 'tools', upstream, original: value.name, exposed: `${upstream}__${value.name}`, value }
}

/** The 527 tools of LiveMCPTool. */
export function liveEntries(): CatalogEntry[] {
  return liveServers().flatMap(({ name, tools }) => tools.map(tool => entryOf(name, tool)))
}
