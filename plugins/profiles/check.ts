import {
  isKnown,
  listAt,
  mapAt,
  pointerTo,
  textAt,
  type CheckedOptions,
  type Report,
} from '../../src/plugin.ts'

/** Profiles speak of upstreams that exist, and listeners of profiles that do. */
export function check(config: unknown, report: Report, { names }: CheckedOptions): void {
  const profiles = mapAt(config, 'profiles')
  const upstream = { what: 'upstream', names: names.upstreams }
  for (const name of Object.keys(profiles)) {
    const pointer = pointerTo('/profiles', name)
    listAt(profiles, name, 'upstreams').forEach((one, i) =>
      isKnown(one, upstream, `${pointer}/upstreams/${i}`, report),
    )
    for (const one of Object.keys(mapAt(profiles, name, 'prefixes')))
      isKnown(one, upstream, pointerTo(`${pointer}/prefixes`, one), report)
  }
  const listeners = mapAt(config, 'listeners')
  const profile = { what: 'profile', names: Object.keys(profiles) }
  for (const name of Object.keys(listeners))
    isKnown(textAt(listeners, name, 'profile'), profile, `${pointerTo('/listeners', name)}/profile`, report)
  checkPrefixes(config, report)
}

/** A rule that goes by the name a client says would be passed by saying the same name in another view. */
function checkPrefixes(config: unknown, report: Report): void {
  const what = ruledByName(config)
  if (what === undefined) return
  const profiles = mapAt(config, 'profiles')
  for (const name of Object.keys(profiles)) {
    if (Object.keys(mapAt(profiles, name, 'prefixes')).length === 0) continue
    const message = `names of its own would pass ${what}, which go by the names of the whole gateway`
    const hint = 'leave out "prefixes", or the rules by tool and prompt'
    report({ pointer: `${pointerTo('/profiles', name)}/prefixes`, message, hint })
  }
}

function ruledByName(config: unknown): string | undefined {
  const isByName = (route: unknown): boolean => NAMED.some(key => key in mapAt(route, 'match'))
  if (listAt(config, 'routes').some(isByName)) return 'routes'
  const rules = mapAt(config, 'rateLimit', 'rules')
  return Object.keys(rules).some(name => 'tools' in mapAt(rules, name)) ? 'rateLimit.rules' : undefined
}

const NAMED = ['tool', 'prompt']
