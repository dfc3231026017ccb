import { listAt, mapAt, textAt, valueAt } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import { didYouMean } from '../../util/suggest.ts'
import type { Report } from '../problem.ts'

/** Profiles speak of upstreams that exist, and listeners of profiles and of each other. */
export function checkProfiles(config: unknown, report: Report): void {
  const profiles = mapAt(config, 'profiles')
  const upstreams = Object.keys(mapAt(config, 'upstreams'))
  // What "agents" adds can be shown and hidden like any other.
  if (valueAt(config, 'agents') !== undefined) upstreams.push('agents')
  const listeners = mapAt(config, 'listeners')

  for (const name of Object.keys(profiles)) {
    const pointer = pointerTo('/profiles', name)
    listAt(profiles, name, 'upstreams').forEach((upstream, i) =>
      known(upstream, 'upstream', upstreams, `${pointer}/upstreams/${i}`),
    )
    for (const upstream of Object.keys(mapAt(profiles, name, 'prefixes')))
      known(upstream, 'upstream', upstreams, pointerTo(`${pointer}/prefixes`, upstream))
  }
  for (const name of Object.keys(listeners)) {
    const profile = textAt(listeners, name, 'profile')
    known(profile, 'profile', Object.keys(profiles), `${pointerTo('/listeners', name)}/profile`)
  }
  checkPrefixes(config, report)
  const served = Object.keys(listeners).filter(name => textAt(listeners, name, 'type') === 'http')
  listAt(config, 'rest', 'listeners').forEach((name, i) =>
    known(name, 'HTTP listener', served, `/rest/listeners/${i}`),
  )

  function known(name: unknown, what: string, all: readonly string[], pointer: string): void {
    if (typeof name !== 'string' || all.includes(name)) return
    report({ pointer, message: `there is no ${what} "${name}"`, hint: didYouMean(name, all) })
  }
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
