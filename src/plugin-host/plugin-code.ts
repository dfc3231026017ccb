import { statSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const OWN_MODULES = /^tapgate(?:\/|$)/
/** True in a built package, whose export names resolve to the running files. */
const isBuilt = import.meta.url.includes('/dist/')
const { cache: commonJsModules } = createRequire(import.meta.url)

/** One plugin's code: its modules outside node_modules, as they were loaded. */
interface PluginCode {
  /** Added to module URLs, as Node never forgets a module. */
  version: number
  /** Modification times by file. */
  readonly files: Map<string, number>
}

/** Code by the main module's URL. */
const codes = new Map<string, PluginCode>()
/** Code by module URL. */
const owners = new Map<string, PluginCode>()
let isRegistered = false

/** Imports a plugin's module; files that changed since the last import are read again. */
export async function importPluginCode(url: string): Promise<object> {
  registerResolver()
  const code = codes.get(url) ?? { version: 0, files: new Map<string, number>() }
  codes.set(url, code)
  if ([...code.files].some(([file, time]) => readTime(file) !== time)) forgetModules(code)
  return (await import(addModule(url, code))) as object
}

/** Lists all plugins' code files, for `--watch`. */
export function listPluginCode(): string[] {
  return [...codes.values()].flatMap(({ files }) => [...files.keys()])
}

/** True for a plugin module's URL. */
export function isPluginCode(url: string): boolean {
  return owners.has(url)
}

function forgetModules(code: PluginCode): void {
  for (const file of code.files.keys()) Reflect.deleteProperty(commonJsModules, file)
  code.files.clear()
  code.version++
}

/** Adds a module to its plugin's code. Returns its URL. */
function addModule(url: string, code: PluginCode): string {
  const file = fileURLToPath(url)
  if (!code.files.has(file)) code.files.set(file, readTime(file))
  const versioned = code.version === 0 ? url : `${url}?v=${code.version}`
  owners.set(url, code).set(versioned, code)
  return versioned
}

function readTime(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/**
 * Resolves `tapgate/plugin` to this gateway for all plugins: a global installation is outside a project's
 * node_modules, and a second copy would have different classes. Modules that a plugin imports belong to its code.
 */
function registerResolver(): void {
  if (isRegistered) return
  isRegistered = true
  registerHooks({
    resolve(specifier, context, next) {
      if (isBuilt && OWN_MODULES.test(specifier)) return next(specifier, { ...context, parentURL: import.meta.url })
      const found = next(specifier, context)
      const owner = context.parentURL === undefined ? undefined : owners.get(context.parentURL)
      const isOwn = owner !== undefined && found.url.startsWith('file:') && !found.url.includes('/node_modules/')
      return isOwn ? { ...found, url: addModule(found.url, owner) } : found
    },
  })
}
