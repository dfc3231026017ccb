import { surfacesOf } from '../../../plugins/surface/settings.ts'
import { listed, type Listed } from '../../../plugins/surface/shown.ts'
import { ANONYMOUS, type CatalogEntry, type Config, type JsonObject } from '../../../src/plugin.ts'
import { liveServers } from '../../fixtures/live-mcp-tool/index.ts'

/** A tool as the catalog has it. */
export function entryOf(upstream: string, value: JsonObject & { readonly name: string }): CatalogEntry {
  return { kind: 'tools', upstream, original: value.name, exposed: `${upstream}__${value.name}`, value }
}

/** The 527 tools of LiveMCPTool. */
export function liveEntries(): CatalogEntry[] {
  return liveServers().flatMap(({ name, tools }) => tools.map(tool => entryOf(name, tool)))
}

const CODE = { timeout: '30s', calls: 50, memory: '32MiB' }

/** Entries in the form of a mode, with a budget that is never the reason for anything. */
export function shownIn(entries: readonly CatalogEntry[], mode: 'search' | 'compact'): Listed {
  const surface = { mode, budget: 8000, pinned: [], results: 5, choices: [], clients: {}, code: CODE }
  const upstreams = Object.fromEntries(entries.map(({ upstream }) => [upstream, {}]))
  const reader = { principal: ANONYMOUS, client: { name: 'proof', version: '1' } }
  return listed(entries, surfacesOf({ surface, upstreams } as unknown as Config).of(reader))
}
