import type { UpstreamConfig } from './config.gen.ts'

/** Mark of a server that another process has. It stands in no file: with whom a server is counts as a part of what it is. */
const MARK = 'owned'

export function markedAsOwned<T extends UpstreamConfig>(spec: T): T {
  return { ...spec, [MARK]: true }
}

/** The same as a file would have it. */
export function withoutMark(spec: UpstreamConfig): UpstreamConfig {
  if (!(MARK in spec)) return spec
  const { [MARK]: _, ...plain } = spec
  return plain
}

/** A spec that stands in the place of another, with the mark of that. */
export function markedLike(spec: UpstreamConfig, before: UpstreamConfig | undefined): UpstreamConfig {
  return before !== undefined && MARK in before ? markedAsOwned(spec) : spec
}
