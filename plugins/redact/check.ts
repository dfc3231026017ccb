import { isKnown, listAt, mapAt, pointerTo, valueAt, type Report } from '../../src/plugin.ts'
import { NAMES } from './detectors.ts'

/** Detectors that are spoken of must be there, those of the owner must be used, and have names of their own. */
export function check(config: unknown, report: Report): void {
  if (valueAt(config, 'redact') === undefined) return
  const own = Object.keys(mapAt(config, 'redact', 'expressions'))
  const names = [...NAMES, ...own]
  const used = new Set<unknown>()
  listAt(config, 'redact', 'rules').forEach((rule, i) =>
    listAt(rule, 'detect').forEach((name, j) => {
      used.add(name)
      isKnown(name, { what: 'detector', names }, `/redact/rules/${i}/detect/${j}`, report)
    }),
  )
  for (const name of own) {
    const pointer = pointerTo('/redact/expressions', name)
    if (NAMES.includes(name))
      report({ pointer, message: `"${name}" is a detector of ours`, hint: 'give it another name', on: 'key' })
    else if (!used.has(name))
      report({
        pointer,
        message: 'no rule detects it',
        hint: 'name it under "detect"',
        severity: 'warning',
        on: 'key',
      })
  }
}
