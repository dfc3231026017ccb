import { pointerKeys } from '../../util/finding.ts'
import { type ReportProblem, problemAt } from '../problem.ts'
import { mergeTrees, type Origin, type Tree } from './tree.ts'
import { parseYaml } from './yaml.ts'

/** Lays `--set a.b=c` settings over a tree; `/a/b=c` is for keys that contain dots. */
export function withSettings(
  tree: Tree | undefined,
  settings: readonly string[],
  report: ReportProblem,
): Tree | undefined {
  return settings.reduce<Tree | undefined>((base, setting) => {
    const over = settingTree(setting, report)
    return over === undefined ? base : mergeTrees(base, over)
  }, tree)
}

function settingTree(setting: string, report: ReportProblem): Tree | undefined {
  const origin: Origin = { from: 'set', text: setting }
  const equals = setting.indexOf('=')
  const path = setting.slice(0, Math.max(0, equals))
  const keys = path.startsWith('/') ? pointerKeys(path) : path.split('.')
  if (equals < 1 || keys.includes('')) {
    report(
      problemAt(origin, {
        pointer: '',
        message: `cannot read "${path || setting}"`,
        hint: 'write --set upstreams.web.timeout=30s',
      }),
    )
    return undefined
  }
  const value = parseYaml(setting.slice(equals + 1), '--set', problem =>
    report({ ...problem, file: '--set', line: undefined, col: undefined, pointer: `/${keys.join('/')}` }),
  )
  return value === undefined ? undefined : nested(keys, from(value, origin), origin)
}

function nested(keys: readonly string[], tree: Tree, origin: Origin): Tree {
  return keys.reduceRight<Tree>(
    (inner, key) => ({ kind: 'map', origin, entries: new Map([[key, { key: origin, tree: inner }]]) }),
    tree,
  )
}

/** The same tree as if all of it came from one place. */
function from(tree: Tree, origin: Origin): Tree {
  if (tree.kind === 'scalar') return { ...tree, origin }
  if (tree.kind === 'list') return { ...tree, origin, items: tree.items.map(item => from(item, origin)) }
  const entries = new Map(
    [...tree.entries].map(([key, entry]) => [key, { key: origin, tree: from(entry.tree, origin) }]),
  )
  return { ...tree, origin, entries }
}
