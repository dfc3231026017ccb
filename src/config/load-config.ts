import { dirname, resolve } from 'node:path'
import { gatewayError } from '../errors/errors.ts'
import { parsePointer } from '../util/finding.ts'
import type { Feature } from './check-config.ts'
import type { LoadedConfig } from './finish-config.ts'
import { finishConfig } from './finish-config.ts'
import { SECTIONS } from './keys.gen.ts'
import type { Problem, ReportProblem } from './problem.ts'
import { hasErrors, invalidConfig, createProblem } from './problem.ts'
import type { Outputs, RunCommand } from './source/secret-commands.ts'
import { getCommandKey } from './source/secret-commands.ts'
import { ConfigSources, findConfig, findOverlay } from './source/find.ts'
import type { ConfigEnvironment } from './source/interpolate.ts'
import { interpolate } from './source/interpolate.ts'
import { EnvFiles } from './source/env-files.ts'
import { explainUnreadable } from './source/read-text.ts'
import type { TreeEntry, MapTree, ValueOrigin, Tree } from './source/tree.ts'
import { mergeTrees, createTree } from './source/tree.ts'
import { refuseUntrusted } from './source/file-trust.ts'
import { parseYaml } from './source/parse-yaml.ts'

/** A tree with plugin sections moved to `options`, and the names of those plugins. */
interface SectionedTree {
  readonly tree: Tree
  readonly sections: ReadonlySet<string>
}

/**
 * Moves top-level sections of third-party plugins into their options: `budget: …` with `plugins: { budget: { use: … }
 * }`. Origins are preserved.
 */
function gatherSections(tree: Tree, report: ReportProblem): SectionedTree {
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
      report(createProblem(section.key, { pointer: `/${name}`, ...DUPLICATE_OPTIONS }))
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

const DUPLICATE_OPTIONS = {
  message: 'plugin already has "options"',
  hint: 'keep its options in one place: here, or under "plugins"',
}

function withOptions(spec: MapTree, section: TreeEntry): MapTree {
  return { ...spec, entries: new Map([...spec.entries, ['options', section]]) }
}

export interface LoadOptions {
  /** Configuration path; default: search upwards from `cwd`. */
  readonly file?: string | undefined
  /** Environment name; default: GATEWAY_ENV. */
  readonly env?: string | undefined
  /** Settings such as `upstreams.web.timeout=30s`. */
  readonly set?: readonly string[] | undefined
  /** Additional settings, depending on the listeners' types by name. */
  readonly setFor?: ((listeners: ReadonlyMap<string, unknown>) => readonly string[]) | undefined
  /** Files from `--env-file`, whose variables placeholders may name. */
  readonly envFiles?: readonly string[] | undefined
  readonly cwd: string
  /** Plugins with configuration checks; `gateway/load-config.ts` adds the built-in ones. */
  readonly features?: readonly Feature[]
  readonly environment: ConfigEnvironment
  /** Runs `${exec:…}` and `${keyring:…}` commands. Default: none is run, and outputs are placeholders. */
  readonly run?: RunCommand | undefined
}

/** Finds, parses, merges and validates a configuration; throws all problems together. */
export async function loadConfig(given: LoadOptions): Promise<LoadedConfig> {
  const { cwd } = given
  const file = await findConfigFile(given)
  const reason = explainUnreadable(file)
  if (reason !== undefined) throw gatewayError('GW_CONFIG_UNREADABLE', { file, why: reason })
  const problems: Problem[] = []
  const report: ReportProblem = problem => problems.push(problem)

  const sources = new ConfigSources(report)
  const written = applySettings(readAll(file, given, sources, report), given.set ?? [], report)
  sources.files.forEach(each => refuseUntrusted(each))
  const envFiles = new EnvFiles(cwd, report)
  const environment = envFiles.extendEnvironment(given.environment, given.envFiles ?? [], written)
  const options = { ...given, environment }
  const tree = applySettings(written, listSettings(written, options), report)
  if (tree === undefined || hasErrors(problems)) throw invalidConfig(problems)
  const { tree: sectioned, sections } = gatherSections(tree, report)
  const outputs = await runCommands(sectioned, options)
  const filler = interpolate(sectioned, environment, cwd, report, outputs)
  const { tree: filled, secrets, broken, files } = filler
  return finishConfig({
    tree: envFiles.extendServers(filled),
    sections,
    file,
    env: getEnvironmentName(given),
    files: [...new Set([...sources.files, ...files, ...envFiles.files])],
    directory: dirname(file),
    secrets,
    broken,
    problems,
    features: options.features ?? [],
    searchPath: environment.PATH,
  })
}

/** Settings for the configured listeners; command outputs are not known yet. */
function listSettings(tree: Tree | undefined, { setFor, environment, cwd }: LoadOptions): readonly string[] {
  if (setFor === undefined || tree === undefined) return []
  const listeners = findMap(interpolate(tree, environment, cwd, ignore).tree, 'listeners')
  const types = [...(listeners?.entries ?? [])].map(([name, { tree: spec }]): [string, unknown] => {
    const type = spec.kind === 'map' ? spec.entries.get('type')?.tree : undefined
    return [name, type?.kind === 'scalar' ? type.value : undefined]
  })
  return setFor(new Map(types))
}

/** Runs all commands concurrently; their errors are reported later. */
async function runCommands(tree: Tree, { run, environment, cwd }: LoadOptions): Promise<Outputs> {
  if (run === undefined) return 'leave'
  const { commands } = interpolate(tree, environment, cwd, ignore)
  const outputs = commands.map(async command => [getCommandKey(command), await run(command)] as const)
  return new Map(await Promise.all(outputs))
}

const ignore: ReportProblem = () => undefined

function findMap(tree: Tree | undefined, key: string): MapTree | undefined {
  const child = tree?.kind === 'map' ? tree.entries.get(key)?.tree : undefined
  return child?.kind === 'map' ? child : undefined
}

async function findConfigFile({
  file,
  cwd,
  environment,
}: Pick<LoadOptions, 'file' | 'cwd' | 'environment'>): Promise<string> {
  return file === undefined ? findConfig(cwd, environment.HOME ?? environment.USERPROFILE) : resolve(cwd, file)
}

/** Returns the name from `--env` or GATEWAY_ENV; undefined if it is empty. */
export function getEnvironmentName({ env, environment }: Pick<LoadOptions, 'env' | 'environment'>): string | undefined {
  return (env ?? environment.GATEWAY_ENV) || undefined
}

function readAll(
  file: string,
  options: Pick<LoadOptions, 'env' | 'environment'>,
  sources: ConfigSources,
  report: ReportProblem,
): Tree | undefined {
  const origin: ValueOrigin = { from: 'file', file, line: 1, col: 1 }
  const tree = sources.load(file, origin)
  const environmentName = getEnvironmentName(options)
  if (environmentName === undefined) return tree
  const overlay = findOverlay(file, environmentName)
  if (!('file' in overlay)) report(createProblem(origin, overlay))
  const over = 'file' in overlay ? sources.load(overlay.file, origin) : undefined
  return over === undefined ? tree : mergeTrees(tree, over)
}

/** Validates plain data like a file, without placeholders and positions. */
export function parseConfig(
  value: unknown,
  { directory, features = [] }: { readonly directory: string; readonly features?: readonly Feature[] },
): LoadedConfig {
  const tree = createTree(value, { from: 'value' })
  if (tree?.kind !== 'map')
    throw createConfigError(
      '',
      'expected plain data',
      'pass an object of strings, numbers, booleans, arrays and objects',
    )
  if (tree.entries.has('extends'))
    throw createConfigError('/extends', 'extends is only supported in files', 'merge the objects first')
  const problems: Problem[] = []
  const sectioned = gatherSections(tree, problem => problems.push(problem))
  return finishConfig({
    ...sectioned,
    ...{ file: undefined, files: [], directory, features },
    ...{ secrets: [], broken: new Set<string>(), problems },
  })
}

function createConfigError(pointer: string, message: string, hint: string): Error {
  return invalidConfig([createProblem(undefined, { pointer, message, hint })])
}

/** Applies `--set a.b=c` settings; `/a/b=c` allows keys with dots. */
function applySettings(tree: Tree | undefined, settings: readonly string[], report: ReportProblem): Tree | undefined {
  return settings.reduce<Tree | undefined>((base, setting) => {
    const over = parseSetting(setting, report)
    return over === undefined ? base : mergeTrees(base, over)
  }, tree)
}

function parseSetting(setting: string, report: ReportProblem): Tree | undefined {
  const origin: ValueOrigin = { from: 'set', text: setting }
  const equals = setting.indexOf('=')
  const path = setting.slice(0, Math.max(0, equals))
  const keys = path.startsWith('/') ? parsePointer(path) : path.split('.')
  if (equals < 1 || keys.includes('')) {
    report(
      createProblem(origin, {
        pointer: '',
        message: `invalid setting "${path || setting}"`,
        hint: 'use --set upstreams.web.timeout=30s',
      }),
    )
    return undefined
  }
  const value = parseYaml(setting.slice(equals + 1), '--set', problem =>
    report({ ...problem, file: '--set', line: undefined, col: undefined, pointer: `/${keys.join('/')}` }),
  )
  return value === undefined ? undefined : nestTree(keys, replaceOrigins(value, origin), origin)
}

function nestTree(keys: readonly string[], tree: Tree, origin: ValueOrigin): Tree {
  return keys.reduceRight<Tree>(
    (inner, key) => ({ kind: 'map', origin, entries: new Map([[key, { key: origin, tree: inner }]]) }),
    tree,
  )
}

/** Replaces all origins in a tree. */
function replaceOrigins(tree: Tree, origin: ValueOrigin): Tree {
  if (tree.kind === 'scalar') return { ...tree, origin }
  if (tree.kind === 'list') return { ...tree, origin, items: tree.items.map(item => replaceOrigins(item, origin)) }
  const entries = new Map(
    [...tree.entries].map(([key, entry]) => [key, { key: origin, tree: replaceOrigins(entry.tree, origin) }]),
  )
  return { ...tree, origin, entries }
}
