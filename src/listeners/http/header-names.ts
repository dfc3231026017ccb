import type { Config, ListenerConfig } from '../../api/index.ts'
import { isObject } from '../../protocol/json/json.ts'

/** What a configuration says of a request's headers; all names lower case. */
export interface HeaderNames {
  /** The header with the label of a conversation; undefined when none is read. */
  readonly label: string | undefined
  /** Passed on beside those that always are. */
  readonly alsoPassed: ReadonlySet<string>
}

/** Every header that any section names must get past the listener, or what that section says does nothing. */
export function headerNames(
  { sessionLabel }: Extract<ListenerConfig, { type: 'http' }>,
  { sessionHeaders, upstreams, cache }: Config,
): HeaderNames {
  const label = sessionLabel === false ? undefined : sessionLabel.toLowerCase()
  const named = [label, sessionHeaders?.header, ...variedIn(cache)]
  for (const spec of Object.values(upstreams)) {
    if ('forwardHeaders' in spec) named.push(...(spec.forwardHeaders ?? []))
    named.push(...variedIn(spec.cache))
  }
  return {
    label,
    alsoPassed: new Set(named.flatMap(name => (name === undefined ? [] : [name.toLowerCase()]))),
  }
}

/** The headers by which any rule of a cache section tells answers apart. */
function variedIn(section: unknown): string[] {
  if (!isObject(section)) return []
  return Object.entries(section).flatMap(([key, value]) => {
    if (key !== 'vary' || !Array.isArray(value)) return variedIn(value)
    return value.flatMap((word: unknown) =>
      typeof word === 'string' && word.startsWith('header:') ? [word.slice('header:'.length)] : [],
    )
  })
}
