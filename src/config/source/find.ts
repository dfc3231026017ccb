import { existsSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { gatewayError } from '../../errors/errors.ts'
import type { Finding } from '../../util/finding.ts'
import type { ReportProblem } from '../problem.ts'
import { createProblem } from '../problem.ts'
import type { FileContents } from './read-text.ts'
import { readText } from './read-text.ts'
import type { MapTree, ValueOrigin, Tree } from './tree.ts'
import { mergeTrees } from './tree.ts'
import { refuseUntrusted } from './file-trust.ts'
import { parseYaml } from './parse-yaml.ts'

const MAX_FILE_BYTES = 1024 * 1024
/** File limit per configuration. */
const MAX_FILES = 64

/** Reads files with their `extends`, each once. */
export class ConfigSources {
  readonly #report: ReportProblem
  readonly #trees = new Map<string, Tree | 'open' | undefined>()

  constructor(report: ReportProblem) {
    this.#report = report
  }

  get files(): string[] {
    return [...this.#trees.keys()]
  }

  /** Loads a file merged over its bases; undefined after reporting an error. `from` is the referring position. */
  load(file: string, from: ValueOrigin, pointer = ''): Tree | undefined {
    const cached = this.#trees.get(file)
    if (cached === 'open')
      return this.#refuse(from, pointer, `"${file}" extends itself`, 'remove the circular reference')
    if (this.#trees.has(file)) return cached
    if (this.#trees.size >= MAX_FILES) return this.#refuse(from, pointer, `more than ${MAX_FILES} files`)
    this.#trees.set(file, 'open')
    const tree = this.#read(file, from, pointer)
    this.#trees.set(file, tree)
    return tree
  }

  #read(file: string, from: ValueOrigin, pointer: string): Tree | undefined {
    const contents = readText(file, MAX_FILE_BYTES)
    if (!('text' in contents)) return this.#refuse(from, pointer, describeUnreadable(file, contents))
    const own = parseYaml(contents.text, file, this.#report)
    if (own === undefined) return undefined
    // An empty file is likely being written by an editor; applying it would stop everything.
    if (isEmpty(own)) return this.#refuse(own.origin, '', 'the file is empty', 'start with "version: 1"')
    if (own.kind === 'map') return this.#applyExtends(own, file)
    return this.#refuse(own.origin, '', 'the file must contain a map', 'start with "version: 1"')
  }

  #applyExtends(own: MapTree, file: string): Tree | undefined {
    const entries = new Map(own.entries)
    const extendsTree = entries.get('extends')?.tree
    entries.delete('extends')
    const ownTree: Tree = { ...own, entries }
    if (extendsTree === undefined) return ownTree
    const bases = parseBaseNames(extendsTree)
    if (bases === undefined)
      return this.#refuse(extendsTree.origin, '/extends', 'expected a file name or a list of them')
    return bases
      .map(({ name, origin }) => this.load(resolve(dirname(file), name), origin, '/extends'))
      .concat(ownTree)
      .reduce((base, tree) => (tree === undefined ? base : mergeTrees(base, tree)), undefined)
  }

  #refuse(origin: ValueOrigin, pointer: string, message: string, hint?: string): undefined {
    this.#report(createProblem(origin, { pointer, message, hint }))
  }
}

function isEmpty(tree: Tree): boolean {
  return tree.kind === 'map' ? tree.entries.size === 0 : tree.kind === 'scalar' && tree.value === null
}

function describeUnreadable(file: string, contents: FileContents): string {
  return `cannot read ${file}: ${'why' in contents ? contents.why : ''}`
}

function parseBaseNames(tree: Tree): { name: string; origin: ValueOrigin }[] | undefined {
  const items = tree.kind === 'list' ? tree.items : [tree]
  const names = items.flatMap(item =>
    item.kind === 'scalar' && typeof item.value === 'string' && item.value !== ''
      ? [{ name: item.value, origin: item.origin }]
      : [],
  )
  return names.length === items.length ? names : undefined
}

/** Configuration names by priority. */
const CONFIG_NAMES = ['gateway.yaml', 'gateway.yml', 'gateway.json', 'tapgate.yaml', 'tapgate.yml'] as const

interface Explorer {
  search(from: string): Promise<{ readonly filepath: string } | null>
}
type ExplorerClass = new (options: Readonly<Record<string, unknown>>) => Explorer

/**
 * Searches upwards from a directory to the home directory or root.
 * @throws GatewayError GW_CONFIG_UNTRUSTED if another user could have written the file
 */
export async function findConfig(directory: string, homeDirectory: string | undefined): Promise<string> {
  const explorer = await makeExplorer(homeDirectory)
  const result = await explorer.search(directory)
  if (result === null) throw gatewayError('GW_CONFIG_NOT_FOUND', { directory })
  refuseUntrusted(result.filepath)
  return result.filepath
}

// cosmiconfig() would read its own settings from the working directory and run .config/config.js. Its Explorer class
// does not, and these loaders neither parse nor run anything.
async function makeExplorer(homeDirectory: string | undefined): Promise<Explorer> {
  const module = (await import('cosmiconfig/dist/Explorer.js')) as unknown as { Explorer: ExplorerClass }
  return new module.Explorer({
    moduleName: 'gateway',
    searchPlaces: CONFIG_NAMES,
    searchStrategy: 'global',
    stopDir: homeDirectory,
    ignoreEmptySearchPlaces: false,
    cache: false,
    metaConfigFilePath: null,
    mergeImportArrays: false,
    mergeSearchPlaces: false,
    applyPackagePropertyPathToConfiguration: false,
    loaders: { '.yaml': loadOwnName, '.yml': loadOwnName, '.json': loadOwnName, default: () => null },
    transform: (result: unknown) => result,
  })
}

/** Ignores files with other names in cosmiconfig's global directory. */
function loadOwnName(file: string): object | null {
  return CONFIG_NAMES.some(name => file.endsWith(name)) ? {} : null
}

/** Finds the overlay `gateway.<env>.yaml`, or returns an error. */
export function findOverlay(file: string, environment: string): { readonly file: string } | Finding {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(environment)) {
    const message = `invalid environment name "${environment}"`
    return { pointer: '', message, hint: 'use letters, digits, underscores and hyphens' }
  }
  const extension = extname(file)
  const stem = `${basename(file, extension)}.${environment}`
  const names = [...new Set([extension, '.yaml', '.yml', '.json'])].map(ending => `${stem}${ending}`)
  const match = names.find(name => existsSync(join(dirname(file), name)))
  if (match !== undefined) return { file: join(dirname(file), match) }
  const message = `no file for environment "${environment}"`
  return { pointer: '', message, hint: `searched for ${names.join(', ')} in ${dirname(file)}` }
}
