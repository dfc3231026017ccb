import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isAbsolute, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Config } from '../api/index.ts'
import { gatewayError, getErrorMessage } from '../errors/errors.ts'
import type { Plugin } from '../plugin.ts'
import { isObject } from '../protocol/json/json.ts'
import type { Finding } from '../util/finding.ts'
import { appendPointer } from '../util/finding.ts'
import type { LocateFinding } from './plugin-failure.ts'
import { importPluginCode } from './plugin-code.ts'
import { locateInPluginFile, formatError, createUnusablePluginError } from './plugin-failure.ts'

/** A plugin with its options and its source. */
export interface ChosenPlugin {
  readonly plugin: Plugin<never>
  readonly options: unknown
  /** `built-in`, the configured path or package, or `code`. */
  readonly from: string
  /** JSON pointer to the configuration key that selected it; empty if none. */
  readonly pointer: string
  readonly url?: string
}

/** Selects the built-in plugins that a configuration needs. */
export function chooseBuiltins(builtins: readonly Plugin<never>[], config: Config): ChosenPlugin[] {
  return builtins
    .filter(plugin => isClaimed(plugin, config))
    .map(plugin => ({
      plugin,
      options: plugin.claims?.section === undefined ? undefined : config[plugin.claims.section],
      from: 'built-in',
      pointer: plugin.claims?.section === undefined ? '' : `/${plugin.claims.section}`,
    }))
}

function isClaimed({ claims }: Plugin<never>, config: Config): boolean {
  if (claims === undefined || claims.always === true) return true
  const section = claims.section === undefined ? undefined : config[claims.section]
  if (section !== undefined && section !== false) return true
  return isUsed(claims.upstream, config.upstreams) || isUsed(claims.profile, config.profiles)
}

function isUsed(keys: readonly string[] = [], specs: object = {}): boolean {
  const all = Object.values(specs) as Record<string, unknown>[]
  return keys.some(key => all.some(spec => spec[key] !== undefined))
}

/** Loads the plugins in `plugins:`: paths relative to the configuration, or installed packages. */
export async function importPlugins(config: Config, directory: string, at: LocateFinding): Promise<ChosenPlugin[]> {
  const enabled = Object.entries(config.plugins).filter(([, spec]) => spec.enabled)
  return Promise.all(
    enabled.map(async ([name, { use, options }]) => {
      const pointer = appendPointer('/plugins', name)
      const url = resolvePluginUrl(name, use, directory, pointer, at)
      return { plugin: await loadPlugin(name, url, options, pointer, at), options, from: use, pointer, url }
    }),
  )
}

async function loadPlugin(
  name: string,
  url: string,
  options: unknown,
  pointer: string,
  at: LocateFinding,
): Promise<Plugin<never>> {
  let made: unknown
  try {
    const loaded = (await importPluginCode(url)) as { default?: unknown; plugin?: unknown }
    const exported = loaded.default ?? loaded.plugin
    made = typeof exported === 'function' ? await (exported as (options: unknown) => unknown)(options) : exported
  } catch (cause) {
    const problem = await locateInPluginFile(cause, url, at({ pointer: `${pointer}/use`, message: formatError(cause) }))
    throw createUnusablePluginError('GW_PLUGIN_LOAD', name, [problem], cause)
  }
  if (isPlugin(made)) return { ...made, name }
  const message = 'the default export must be a plugin: an object with a name and a setup function'
  throw createUnusablePluginError('GW_PLUGIN_LOAD', name, [at({ pointer: `${pointer}/use`, message })])
}

function resolvePluginUrl(name: string, use: string, directory: string, pointer: string, at: LocateFinding): string {
  const failure = (finding: Pick<Finding, 'message' | 'hint'>, cause?: unknown): Error =>
    createUnusablePluginError('GW_PLUGIN_LOAD', name, [at({ pointer: `${pointer}/use`, ...finding })], cause)
  let file: string
  let absence: ReturnType<typeof describeMissing>
  try {
    file = resolvePluginFile(use, directory)
    absence = describeMissing(file)
  } catch (cause) {
    throw failure(createNotFoundProblem(use, cause), cause)
  }
  if (absence !== undefined) throw failure(absence)
  return pathToFileURL(file).href
}

/** Explains why a path cannot be a plugin; import errors come later. */
function describeMissing(path: string): Pick<Finding, 'message' | 'hint'> | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined)
    return {
      message: `file not found: ${path}`,
      hint: 'correct the path, which is relative to the configuration file, or create the plugin: gateway plugin new <name>',
    }
  if (!stats.isDirectory()) return undefined
  const index = ['index.ts', 'index.js', 'index.mjs'].find(file => existsSync(join(path, file)))
  const example = index === undefined ? '' : `, such as ${index}`
  return { message: `${path} is a directory`, hint: `specify a file in it${example}` }
}

function createNotFoundProblem(use: string, cause: unknown): Pick<Finding, 'message' | 'hint'> {
  const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'MODULE_NOT_FOUND'
  return isMissing
    ? {
        message: `the package "${use}" is not installed`,
        hint: `run npm install ${use} in the directory of gateway.yaml`,
      }
    : { message: getErrorMessage(cause) }
}

/**
 * Resolves a plugin's file: a path relative to the configuration, or an installed package. @throws if there is none
 */
function resolvePluginFile(use: string, directory: string): string {
  if (isAbsolute(use)) return use
  if (use.startsWith('.')) return join(directory, use)
  return createRequire(join(directory, 'gateway.yaml')).resolve(use)
}

function isPlugin(value: unknown): value is Plugin<never> {
  return isObject(value) && typeof value.setup === 'function'
}

/** Sorts plugins: early ones first, and dependencies before their dependents; otherwise stable. */
export function orderPlugins(chosen: readonly ChosenPlugin[]): ChosenPlugin[] {
  const byName = new Map<string, ChosenPlugin>()
  for (const one of chosen) {
    const { name } = one.plugin
    if (byName.has(name)) throw gatewayError('GW_PLUGIN_LOAD', { plugin: name, why: 'duplicate plugin name' })
    byName.set(name, one)
  }
  const done = new Set<ChosenPlugin>()
  const isEarly = ({ plugin }: ChosenPlugin): boolean => plugin.early === true
  for (const one of chosen.filter(isEarly)) placeInOrder(one, byName, done, [])
  for (const one of chosen) placeInOrder(one, byName, done, [])
  return [...done]
}

function placeInOrder(
  one: ChosenPlugin,
  byName: ReadonlyMap<string, ChosenPlugin>,
  done: Set<ChosenPlugin>,
  path: readonly string[],
): void {
  const { name, requires = [] } = one.plugin
  if (done.has(one)) return
  if (path.includes(name))
    throw gatewayError('GW_PLUGIN_LOAD', {
      plugin: name,
      why: `circular plugin requirements: ${[...path, name].join(' → ')}`,
    })
  for (const requiredName of requires) {
    const required = byName.get(requiredName)
    if (required === undefined)
      throw gatewayError('GW_PLUGIN_LOAD', {
        plugin: name,
        why: `requires "${requiredName}", which is not installed`,
      })
    placeInOrder(required, byName, done, [...path, name])
  }
  done.add(one)
}
