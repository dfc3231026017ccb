import { listAt, mapAt, textAt } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import { didYouMean } from '../../util/suggest.ts'
import type { Report } from '../problem.ts'

/** Profiles speak of upstreams that exist, and listeners of profiles and of each other. */
export function checkProfiles(config: unknown, report: Report): void {
  const profiles = mapAt(config, 'profiles')
  const upstreams = Object.keys(mapAt(config, 'upstreams'))
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
  const served = Object.keys(listeners).filter(name => textAt(listeners, name, 'type') === 'http')
  listAt(config, 'rest', 'listeners').forEach((name, i) =>
    known(name, 'HTTP listener', served, `/rest/listeners/${i}`),
  )

  function known(name: unknown, what: string, all: readonly string[], pointer: string): void {
    if (typeof name !== 'string' || all.includes(name)) return
    report({ pointer, message: `there is no ${what} "${name}"`, hint: didYouMean(name, all) })
  }
}
