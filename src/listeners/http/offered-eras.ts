import type { Config, ListenerConfig } from '../../api/index.ts'

/** Which eras a listener offers over single HTTP requests, and what decides it. */
export interface OfferedEras {
  readonly modern: 'all' | 'labelled' | 'none'
  /** Upstreams that keep something for each session, which a modern request without a label cannot come back to. */
  readonly because: readonly string[]
}

type Listening = Pick<Extract<ListenerConfig, { type: 'http' }>, 'eras' | 'sessionLabel'>

/**
 * A modern HTTP request is a session of its own. Where an upstream keeps something for each session, clients of both eras
 * are offered legacy sessions, unless they name their conversation.
 */
export function offeredEras(
  config: Partial<Pick<Config, 'upstreams' | 'profiles'>>,
  { eras, sessionLabel }: Listening,
  profile: string | undefined,
): OfferedEras {
  const view = profile === undefined ? undefined : config.profiles?.[profile]
  const because = Object.entries(config.upstreams ?? {})
    .filter(([name, spec]) => spec.enabled && spec.isolation === 'session' && isShown(view, name))
    .map(([name]) => name)
  const asked = view?.eras ?? eras
  if (asked === 'legacy') return { modern: 'none', because }
  if (asked === 'both' || because.length === 0) return { modern: 'all', because }
  return { modern: sessionLabel === false ? 'none' : 'labelled', because }
}

function isShown(view: { readonly upstreams?: readonly string[] } | undefined, upstream: string): boolean {
  return view?.upstreams?.includes(upstream) ?? true
}

/** What that means for modern clients, in words; undefined where there is nothing to say. */
export function erasText({ modern, because }: OfferedEras, label: string | false): string | undefined {
  const which = because.map(name => `"${name}"`).join(', ')
  const by = because.length === 0 ? '' : ` (isolation: session of ${which})`
  if (modern === 'none') return `legacy sessions only${by}`
  if (modern === 'labelled') return `legacy sessions only, but for requests with ${String(label)}${by}`
  return because.length === 0 ? undefined : `each modern request without a label is a session of its own${by}`
}
