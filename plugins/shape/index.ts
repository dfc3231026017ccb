import type { Plugin, Report } from '../../src/plugin.ts'
import { readList, readMap, appendPointer, readText } from '../../src/plugin.ts'
import { ERRORS, compilePick, readPath } from './pick.ts'
import type { ShapeConfig } from './rules.ts'

/** Brings results into a form that fits a model, and keeps the whole of what it cuts. */
export const shape: Plugin<ShapeConfig | undefined> = {
  name: 'shape',
  claims: { section: 'shape', upstream: ['shape'], profile: ['shape'], adds: { upstreams: ['results'] } },
  check,
  errors: ERRORS,
  async setup(api) {
    const { setUp } = await import('./setup.ts')
    setUp(api)
  },
}

/** Points at expressions and paths that mean nothing. The package of the expressions is loaded where there is one. */
function check(config: unknown, report: Report): void {
  for (const [rule, pointer] of rulesIn(config)) {
    const pick = readText(rule, 'pick')
    const compiled = pick === undefined ? undefined : compilePick(pick)
    if (compiled !== undefined && 'mistake' in compiled) {
      const message = `is no JMESPath expression: ${compiled.mistake}`
      report({ pointer: `${pointer}/pick`, message, hint: 'such as `items[].{title: title, url: url}`' })
    }
    readList(rule, 'drop').forEach((path, index) => {
      const read = typeof path === 'string' ? readPath(path) : []
      if (typeof read !== 'string') return
      const hint = 'such as `items[].html` or `meta.*.debug`'
      report({ pointer: `${pointer}/drop/${index}`, message: `is no path: ${read}`, hint })
    })
  }
}

/** Every rule, with its place. */
function* rulesIn(config: unknown): Iterable<readonly [unknown, string]> {
  yield [readMap(config, 'shape'), '/shape']
  for (const [glob, rule] of Object.entries(readMap(config, 'shape', 'tools')))
    yield [rule, appendPointer('/shape/tools', glob)]
  for (const section of ['upstreams', 'profiles'] as const)
    for (const [name, spec] of Object.entries(readMap(config, section)))
      yield [readMap(spec, 'shape'), `${appendPointer(`/${section}`, name)}/shape`]
}
