import { findingsOf, type HealthFinding } from '../../src/plugin.ts'
import { withholds, type Judge, type Mode, type Status } from './judge.ts'

/** Findings of the pins. */
export const HEALTH = {
  'pins-held': {
    level: 'warning',
    text: '{count} of what {upstream} offers is not as gateway.lock has it, and withheld',
    fix: 'gateway lock diff {upstream} shows it, and how to accept it',
  },
  'pins-changed': {
    level: 'warning',
    text: '{count} of what {upstream} offers is not as gateway.lock has it, and passed on',
    fix: 'gateway lock diff {upstream}',
  },
  'pins-no-lock': {
    level: 'warning',
    text: 'there is no gateway.lock: nobody has accepted anything yet',
    fix: 'gateway lock; then review the file, and keep it with gateway.yaml',
  },
} as const

const found = findingsOf(HEALTH)
const STATUSES: readonly Status[] = ['new', 'changed']

/** The drift of each upstream, as it was judged last. */
export function pinsFindings(
  judge: Judge,
  modes: ReadonlyMap<string, Mode>,
  hasLock: boolean,
): HealthFinding[] {
  if (!hasLock) return [found('pins-no-lock')]
  return [...judge.counts()].flatMap(([upstream, counts]) => {
    const mode = modes.get(upstream) ?? 'off'
    const held = STATUSES.filter(status => withholds(mode, status))
    const sum = (statuses: readonly Status[]): number =>
      statuses.reduce((total, status) => total + counts[status], 0)
    const passed = STATUSES.filter(status => !held.includes(status) && status === 'changed')
    return [
      ...(sum(held) > 0 ? [found('pins-held', { upstream, count: sum(held) })] : []),
      ...(sum(passed) > 0 ? [found('pins-changed', { upstream, count: sum(passed) })] : []),
    ]
  })
}
