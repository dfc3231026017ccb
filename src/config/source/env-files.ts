import { dirname, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { gatewayError } from '../../errors/errors.ts'
import { appendPointer } from '../../util/finding.ts'
import type { ReportProblem } from '../problem.ts'
import { createProblem } from '../problem.ts'
import { refuseUntrusted } from './file-trust.ts'
import type { ConfigEnvironment } from './interpolate.ts'
import { readText } from './read-text.ts'
import type { MapTree, ScalarTree, Tree, TreeEntry, ValueOrigin } from './tree.ts'
import { changeUpstreams } from './tree.ts'

const KEY = 'envFile'
const MAX_BYTES = 1024 * 1024

/** Reads the files that `envFile` keys and `--env-file` name. */
export class EnvFiles {
  readonly #cwd: string
  readonly #report: ReportProblem
  /** Files read. */
  readonly files = new Set<string>()

  constructor(cwd: string, report: ReportProblem) {
    this.#cwd = cwd
    this.#report = report
  }

  /**
   * Adds the variables from `--env-file` and the top-level `envFile` to the environment, whose own variables win.
   * @throws GatewayError GW_USAGE if a file from `--env-file` cannot be read
   */
  extendEnvironment(environment: ConfigEnvironment, given: readonly string[], tree?: Tree): ConfigEnvironment {
    const all = given.map(name => {
      const read = this.#read(resolve(this.#cwd, name))
      if (typeof read === 'string') throw gatewayError('GW_USAGE', { what: `cannot read --env-file ${name}: ${read}` })
      return read
    })
    const own = tree?.kind === 'map' ? this.#readEntry(tree, '') : {}
    return Object.assign({}, own, ...all, environment) as ConfigEnvironment
  }

  /** Adds the variables from `upstreams.<name>.envFile` to `env`, whose own variables win. */
  extendServers(tree: Tree): Tree {
    return changeUpstreams(tree, (server, name) => this.#extendServer(server, name))
  }

  #extendServer(server: MapTree, name: string): MapTree {
    const file = server.entries.get(KEY)
    if (file === undefined) return server
    const variables = this.#readEntry(server, appendPointer('/upstreams', name))
    const own = server.entries.get('env')
    const { origin } = file.tree
    const read = Object.entries(variables).map(([variable, value]): [string, TreeEntry] => [
      variable,
      { key: origin, tree: { kind: 'scalar', origin, value } },
    ])
    if (own !== undefined && own.tree.kind !== 'map') return server
    const env = new Map([...read, ...((own?.tree as MapTree | undefined)?.entries ?? [])])
    const entry: TreeEntry = { key: own?.key ?? origin, tree: { kind: 'map', origin, entries: env } }
    return { ...server, entries: new Map([...server.entries, ['env', entry]]) }
  }

  /** Reads the files that a map's `envFile` names, the last of which win. */
  #readEntry(map: MapTree, pointer: string): Record<string, string> {
    const named = map.entries.get(KEY)?.tree
    const names = named?.kind === 'list' ? named.items : named === undefined ? [] : [named]
    const texts = names.filter((one): one is ScalarTree => one.kind === 'scalar' && typeof one.value === 'string')
    const all = texts.map(({ value, origin }) => {
      const file = resolve(this.#getDirectory(origin), String(value))
      const read = this.#read(file)
      if (typeof read !== 'string') return read
      const message = `cannot read ${file}: ${read}`
      this.#report(createProblem(origin, { pointer: appendPointer(pointer, KEY), message, severity: 'error' }))
      return {}
    })
    return Object.assign({}, ...all) as Record<string, string>
  }

  /** Returns the variables, or the reason why the file cannot be read. */
  #read(file: string): Record<string, string> | string {
    const contents = readText(file, MAX_BYTES)
    if (!('text' in contents)) return contents.why
    refuseUntrusted(file)
    this.files.add(file)
    return { ...parseEnv(contents.text) } as Record<string, string>
  }

  #getDirectory(origin: ValueOrigin): string {
    return origin.from === 'file' ? dirname(origin.file) : this.#cwd
  }
}
