import type { Log } from '../../api/index.ts'
import { parseDuration } from '../../util/units.ts'
import type { RunningGateway } from './run-gateway.ts'

const POLL_MS = 1000

/** Resolves when no client has been there for `idle`, a duration that a reload may change; `0s` never. */
export function untilIdle(
  gateway: Pick<RunningGateway, 'activity'>,
  log: Log,
  idle: () => string | number,
): Promise<void> {
  return new Promise(resolve => {
    let usedAt = performance.now()
    let before = 0
    const timer = setInterval(() => {
      const now = performance.now()
      const { sessions, running, opened } = gateway.activity
      if (sessions + running > 0 || opened !== before) usedAt = now
      before = opened
      const idleMs = parseDuration(idle())
      if (idleMs === 0 || now - usedAt < idleMs) return
      clearInterval(timer)
      log.info('stopping: no client for shutdown.idle', { idle: idle() })
      resolve()
    }, POLL_MS).unref()
  })
}
