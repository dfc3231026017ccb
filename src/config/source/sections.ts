import { SECTIONS } from '../keys.gen.ts'
import { problemAt, type ReportProblem } from '../problem.ts'
import type { Entry, MapTree, Tree } from './tree.ts'

/** A tree in which the section of a plugin is its `options`, and the names of the plugins that have a section. */
interface Sectioned {
  readonly tree: Tree
  readonly sections: ReadonlySet<string>
}

/**
 * Takes what stands at the top under the name of a plugin from elsewhere as the options of that plugin: `budget: …` beside
 * `plugins: { budget: { use: … } }`. Values keep their places in the files.
 */
export function gatherSections(tree: Tree, report: ReportProblem): Sectioned {
  const sections = new Set<string>()
  if (tree.kind !== 'map') return { tree, sections }
  const plugins = tree.entries.get('plugins')
  if (plugins?.tree.kind !== 'map') return { tree, sections }
  const top = new Map(tree.entries)
  const named = new Map(plugins.tree.entries)
  for (const [name, { key, tree: spec }] of plugins.tree.entries) {
    const section = top.get(name)
    if (section === undefined || SECTIONS.has(name) || spec.kind !== 'map') continue
    if (spec.entries.has('options')) {
      report(problemAt(section.key, { pointer: `/${name}`, ...TWICE }))
      continue
    }
    top.delete(name)
    named.set(name, { key, tree: withOptions(spec, section) })
    sections.add(name)
  }
  if (sections.size === 0) return { tree, sections }
  top.set('plugins', { ...plugins, tree: { ...plugins.tree, entries: named } })
  return { tree: { ...tree, entries: top }, sections }
}

const TWICE = {
  message: 'this plugin has "options" already',
  hint: 'write its options in one place: here, or under "plugins"',
}

function withOptions(spec: MapTree, section: Entry): MapTree {
  return { ...spec, entries: new Map([...spec.entries, ['options', section]]) }
}
