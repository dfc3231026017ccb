import { didYouMean, mapAt, pointerTo, textAt, unclosedIn, type Report } from '../../src/plugin.ts'
import { CLIENTS } from './profiles.ts'

/** Points at clients of the table that are not there, and at globs that mean something else. */
export function check(config: unknown, report: Report): void {
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
