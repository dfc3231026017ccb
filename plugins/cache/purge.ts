import { forbidsUris, globs } from '../../src/plugin.ts'

/** What an answer is about: everything by which it can be named when it is to be forgotten. */
export interface Subject {
  readonly upstream: string
  readonly method: string
  /** The name or URI asked for, as its server knows it; empty for lists. */
  readonly target: string
  readonly tags: readonly string[]
}

/** What to forget. All of what is given must hold; nothing given means everything. */
export interface Selection {
  readonly upstream?: string | undefined
  readonly method?: string | undefined
  readonly tag?: string | undefined
  /** A test for names and URIs, or the one that is meant. */
  readonly target?: string | ((target: string, upstream: string) => boolean) | undefined
}

/** What a tool's success makes stale, given what clients call the things of each upstream. */
export type Purge = (prefixOf: (upstream: string) => string) => Selection

const METHOD_OF: Readonly<Record<string, string>> = { prompt: 'prompts/get', resource: 'resources/read' }

/**
 * Reads `get_*` (tools), `resource:<glob>`, `prompt:<glob>` or `tag:<tag>`. In an upstream's own section names are its
 * own and only its answers are meant; else they are what clients call them, and a tag is a tag anywhere.
 */
export function parsePurge(text: string, upstream: string | undefined): Purge {
  const [, kind = 'tool', what = text] = /^(tag|prompt|resource):(.*)$/s.exec(text) ?? []
  if (kind === 'tag') return () => ({ tag: what })
  const method = METHOD_OF[kind] ?? 'tools/call'
  const isMeant = (kind === 'resource' ? forbidsUris : globs)(what)
  if (upstream !== undefined) return () => ({ upstream, method, target: isMeant })
  if (kind === 'resource') return () => ({ method, target: isMeant })
  return prefixOf => ({ method, target: (name, owner) => isMeant(prefixOf(owner) + name) })
}
