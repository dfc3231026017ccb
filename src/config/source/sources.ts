import { dirname, resolve } from 'node:path'
import { readText } from './read.ts'
import type { Contents } from './read.ts'
import { problemAt } from '../problem.ts'
import type { ReportProblem } from '../problem.ts'
import { type MapTree, mergeTrees, type Origin, type Tree } from './tree.ts'
import { parseYaml } from './yaml.ts'

const LARGEST_FILE = 1024 * 1024
/** Most files one configuration may be made of. */
const MOST_FILES = 64

/** Reads files with what they extend; each file is read once. */
export class Sources {
  readonly #report: ReportProblem
  readonly #given: { readonly file: string; readonly text: string } | undefined
  readonly #trees = new Map<string, Tree | 'open' | undefined>()

  /** `given` is a text that is read in place of a file. */
  constructor(report: ReportProblem, given?: { readonly file: string; readonly text: string }) {
    this.#report = report
    this.#given = given
  }

  /** Every file read so far. */
  get files(): string[] {
    return [...this.#trees.keys()]
  }

  /** A file laid over what it extends; undefined after reporting why not. `from` is who wants it. */
  load(file: string, from: Origin, pointer = ''): Tree | undefined {
    const known = this.#trees.get(file)
    if (known === 'open')
      return this.#refuse(
        from,
        pointer,
        `"${file}" extends itself`,
        'remove one of the files from the circle',
      )
    if (this.#trees.has(file)) return known
    if (this.#trees.size >= MOST_FILES) return this.#refuse(from, pointer, `more than ${MOST_FILES} files`)
    this.#trees.set(file, 'open')
    const tree = this.#read(file, from, pointer)
    this.#trees.set(file, tree)
    return tree
  }

  #read(file: string, from: Origin, pointer: string): Tree | undefined {
    const contents = file === this.#given?.file ? this.#given : readText(file, LARGEST_FILE)
    if (!('text' in contents)) return this.#refuse(from, pointer, unreadable(file, contents))
    const own = parseYaml(contents.text, file, this.#report)
    if (own === undefined) return undefined
    // A file without content is one that an editor is about to write, or a mistake; as a configuration it would end everything.
    if (isEmpty(own)) return this.#refuse(own.origin, '', 'the file is empty', 'begin with "version: 1"')
    if (own.kind === 'map') return this.#extended(own, file)
    return this.#refuse(own.origin, '', 'the file must hold a map', 'begin with "version: 1"')
  }

  #extended(own: MapTree, file: string): Tree | undefined {
    const entries = new Map(own.entries)
    const wanted = entries.get('extends')?.tree
    entries.delete('extends')
    const rest: Tree = { ...own, entries }
    if (wanted === undefined) return rest
    const bases = baseNames(wanted)
    if (bases === undefined)
      return this.#refuse(wanted.origin, '/extends', 'expected a file name or a list of them')
    return bases
      .map(({ name, origin }) => this.load(resolve(dirname(file), name), origin, '/extends'))
      .concat(rest)
      .reduce((base, tree) => (tree === undefined ? base : mergeTrees(base, tree)), undefined)
  }

  #refuse(origin: Origin, pointer: string, message: string, hint?: string): undefined {
    this.#report(problemAt(origin, { pointer, message, hint }))
  }
}

function isEmpty(tree: Tree): boolean {
  return tree.kind === 'map' ? tree.entries.size === 0 : tree.kind === 'scalar' && tree.value === null
}

function unreadable(file: string, contents: Contents): string {
  return `cannot read ${file}: ${'why' in contents ? contents.why : ''}`
}

function baseNames(tree: Tree): { name: string; origin: Origin }[] | undefined {
  const items = tree.kind === 'list' ? tree.items : [tree]
  const names = items.flatMap(item =>
    item.kind === 'scalar' && typeof item.value === 'string' && item.value !== ''
      ? [{ name: item.value, origin: item.origin }]
      : [],
  )
  return names.length === items.length ? names : undefined
}
