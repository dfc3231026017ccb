import { listAt, mapAt, valueAt } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import type { Report } from '../problem.ts'

/** How many processes a server has, and who shares them, must fit together. */
export function checkPools(config: unknown, report: Report): void {
  const upstreams = mapAt(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const isPerProject = valueAt(upstreams, name, 'cwd') === 'project'
    const forwards = listAt(upstreams, name, 'forwardHeaders').length > 0
    const isShared =
      !isPerProject && !forwards && (valueAt(upstreams, name, 'isolation') ?? 'shared') === 'shared'
    const pointer = pointerTo('/upstreams', name)
    if (isShared) checkPool(valueAt(upstreams, name, 'pool'), pointer, report)
    else checkReplicas(valueAt(upstreams, name, 'replicas'), pointer, report)
    checkBounds(valueAt(upstreams, name, 'pool'), pointer, report)
  }
}

function checkPool(pool: unknown, pointer: string, report: Report): void {
  if (pool === undefined) return
  report({
    pointer: `${pointer}/pool`,
    message: 'a pool has processes of one session or caller each, and here all share one',
    hint: 'add isolation: session or principal, or use replicas',
  })
}

function checkReplicas(replicas: unknown, pointer: string, report: Report): void {
  if (typeof replicas !== 'number' || replicas <= 1) return
  report({
    pointer: `${pointer}/replicas`,
    message:
      'replicas share the calls of everybody, and here there are processes for each session, caller or project',
    hint: 'leave out isolation and cwd: project, or use pool',
  })
}

function checkBounds(pool: unknown, pointer: string, report: Report): void {
  const [min, max] = [valueAt(pool, 'min'), valueAt(pool, 'max')]
  if (typeof min !== 'number' || typeof max !== 'number' || min <= max) return
  report({
    pointer: `${pointer}/pool/min`,
    message: `${min} processes are to wait, and there may be ${max} at most`,
    hint: 'raise max',
  })
}
