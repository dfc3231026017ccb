import type { Plugin, Report } from '../../src/plugin.ts'
import { readList, readMap, appendPointer, readText } from '../../src/plugin.ts'
import { ERRORS, compilePick, parseDropPath } from './shaping-rules.ts'
import type { ShapeConfig } from './shaping-rules.ts'

/** Shortens results for models, and stores the complete result of a cut. */
export const shape: Plugin<ShapeConfig | undefined> = {
  name: 'shape',
  claims: { section: 'shape', upstream: ['shape'], profile: ['shape'], adds: { upstreams: ['results'] } },
  check: checkShape,
  errors: ERRORS,
  async setup(api) {
    const { setUpShape } = await import('./setup.ts')
    setUpShape(api)
  },
}

/** Reports invalid expressions and paths. Loads the expression package only if needed. */
function checkShape(config: unknown, report: Report): void {
  for (const [rule, pointer] of listRules(config)) {
    const pick = readText(rule, 'pick')
    const compiled = pick === undefined ? undefined : compilePick(pick)
    if (compiled !== undefined && 'mistake' in compiled) {
      const message = `is not a valid JMESPath expression: ${compiled.mistake}`
      report({ pointer: `${pointer}/pick`, message, hint: 'such as `items[].{title: title, url: url}`' })
    }
    readList(rule, 'drop').forEach((path, index) => {
      const read = typeof path === 'string' ? parseDropPath(path) : []
      if (typeof read !== 'string') return
      const hint = 'such as `items[].html` or `meta.*.debug`'
      report({ pointer: `${pointer}/drop/${index}`, message: `is not a valid path: ${read}`, hint })
    })
  }
}

/** Lists all rules with their JSON pointers. */
function* listRules(config: unknown): Iterable<readonly [unknown, string]> {
  yield [readMap(config, 'shape'), '/shape']
  for (const [glob, rule] of Object.entries(readMap(config, 'shape', 'tools')))
    yield [rule, appendPointer('/shape/tools', glob)]
  for (const section of ['upstreams', 'profiles'] as const)
    for (const [name, spec] of Object.entries(readMap(config, section)))
      yield [readMap(spec, 'shape'), `${appendPointer(`/${section}`, name)}/shape`]
}
