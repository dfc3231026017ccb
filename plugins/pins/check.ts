import { mapAt, pointerTo, valueAt, type Report } from '../../src/plugin.ts'

/** Modes that say nothing. */
export function check(config: unknown, report: Report): void {
  const upstreams = mapAt(config, 'upstreams')
  const names = Object.keys(upstreams)
  for (const name of names) {
    if (valueAt(upstreams, name, 'pins') === undefined || valueAt(upstreams, name, 'enabled') !== false)
      continue
    report({
      pointer: `${pointerTo('/upstreams', name)}/pins`,
      message: `upstream "${name}" is not enabled, so nothing of it is compared`,
      hint: 'enable it, or take this line out',
      severity: 'warning',
      on: 'key',
    })
  }
  const own = names.map(name => valueAt(upstreams, name, 'pins'))
  if (valueAt(config, 'pins') === undefined || names.length === 0 || own.includes(undefined)) return
  report({
    pointer: '/pins',
    message: 'every upstream has "pins" of its own, so this one is never used',
    hint: 'take it out, or those of upstreams that should have it',
    severity: 'warning',
    on: 'key',
  })
}
