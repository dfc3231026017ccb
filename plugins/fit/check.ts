import { didYouMean, isObject, mapAt, pointerTo, textAt, unclosedIn, type Report } from '../../src/plugin.ts'
import { CLIENTS } from './profiles.ts'

/** Points at clients of the table that are not there, and at globs that mean something else. */
export function check(config: unknown, report: Report): void {
  if (mapAt({ config }, 'config').fit === false) reportUnused(config, report)
  for (const [pattern, spec] of Object.entries(mapAt(config, 'fit', 'clients'))) {
    const pointer = pointerTo('/fit/clients', pattern)
    const like = textAt({ spec }, 'spec', 'like')
    if (like !== undefined && !CLIENTS.includes(like))
      report({
        pointer: `${pointer}/like`,
        message: `no client of the table is called "${like}"`,
        hint: didYouMean(like, CLIENTS) ?? `it has ${CLIENTS.join(', ')}`,
      })
    const open = unclosedIn(pattern)
    if (open !== undefined)
      report({ pointer, message: `the "${open}" of this glob is not closed`, severity: 'warning', on: 'key' })
  }
}

/** Points at profiles that say how lists are fitted while none is. */
function reportUnused(config: unknown, report: Report): void {
  for (const [name, profile] of Object.entries(mapAt(config, 'profiles')))
    if (isObject(profile) && profile.fit !== undefined)
      report({
        pointer: `${pointerTo('/profiles', name)}/fit`,
        message: 'nothing comes of it: "fit" is false',
        hint: 'leave out "fit: false", or this',
        severity: 'warning',
        on: 'key',
      })
}
