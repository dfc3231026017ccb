import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import type { UpstreamConfig } from '../../src/plugin.ts'
import { findProgram, isObject } from '../../src/plugin.ts'

/** Stdio server program, identified without network access. */
export type PackagePin =
  | {
      readonly type: 'npm'
      readonly name: string
      readonly version: string
      /** From npm's lock file; absent if the package is not installed here. */
      readonly integrity?: string
      /** SHA-256 of the executed file, if known. */
      readonly sha256?: string
    }
  | { readonly type: 'pypi'; readonly name: string; readonly version: string }
  | { readonly type: 'image'; readonly image: string }
  | { readonly type: 'file'; readonly path: string; readonly sha256: string }
  /** The program cannot be identified. */
  | { readonly type: 'unpinned'; readonly reason: string }

/** Directory and environment for program lookup. */
export interface LookupEnvironment {
  readonly directory: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

const MAX_BYTES = 512 * 1024 * 1024
const EXACT = /^\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/
const NPM_RUNNERS: ReadonlySet<string> = new Set(['npx', 'bunx', 'pnpx'])
const NPM_SUBCOMMANDS: ReadonlySet<string> = new Set(['npm exec', 'pnpm dlx', 'yarn dlx'])
const INTERPRETER = /^(?:node|nodejs|bun|deno|tsx|ts-node|python[\d.]*|ruby|perl|php|sh|bash|zsh)$/
/** Flags of `docker run` without a value. */
const BARE =
  /^(?:-(?:d|i|t|P|it|ti|dit|q)|--(?:rm|init|detach|interactive|tty|privileged|read-only|quiet|publish-all|no-healthcheck|oom-kill-disable))$/

/** Identifies a server's program; undefined for other upstream types. */
export function identifyPackage(spec: UpstreamConfig, lookup: LookupEnvironment): PackagePin | undefined {
  if (spec.type !== 'stdio') return undefined
  const { command, args } = spec
  const cwd = resolve(lookup.directory, spec.cwd === 'project' ? '.' : spec.cwd)
  const [runner, remainingArgs] = parseRunner(command, args)
  if (runner === 'npm') return identifyNpmPackage(remainingArgs, cwd, lookup)
  if (runner === 'uvx') return identifyPythonPackage(remainingArgs)
  return runner === 'docker' ? identifyImage(remainingArgs) : identifyLocalProgram(command, args, cwd, lookup)
}

/** Returns the package or image runner and its arguments. */
function parseRunner(command: string, args: readonly string[]): readonly [string | undefined, readonly string[]] {
  const name = basename(command)
  const [first = '', ...rest] = args
  if (NPM_RUNNERS.has(name)) return ['npm', args]
  if (NPM_SUBCOMMANDS.has(`${name} ${first}`)) return ['npm', rest]
  if (name === 'uvx') return ['uvx', args]
  return name === 'docker' || name === 'podman' ? ['docker', args] : [undefined, args]
}

function identifyNpmPackage(args: readonly string[], cwd: string, lookup: LookupEnvironment): PackagePin {
  const named = args.findIndex(arg => arg === '-p' || arg === '--package')
  const joined = args.find(arg => arg.startsWith('--package='))?.slice('--package='.length)
  const specifier = joined ?? (named >= 0 ? args[named + 1] : args.find(arg => !arg.startsWith('-')))
  const [, name, version = ''] = /^(@?[^@]+)(?:@(.*))?$/.exec(specifier ?? '') ?? []
  if (name === undefined) return { type: 'unpinned', reason: 'no package name' }
  if (!EXACT.test(version))
    return { type: 'unpinned', reason: `${name} has no exact version: the next published one would run` }
  const integrity = [...listPackageRoots(cwd, lookup)]
    .map(root => findIntegrity(root, name, version))
    .find(one => one !== undefined)
  return { type: 'npm', name, version, ...(integrity === undefined ? {} : { integrity }) }
}

/** Lists directories that may contain an installed package: the parents, and npx's cache. */
function* listPackageRoots(cwd: string, { environment }: LookupEnvironment): Generator<string> {
  for (let at = cwd; ; at = dirname(at)) {
    yield at
    if (dirname(at) === at) break
  }
  const cacheDirectory = join(environment.npm_config_cache ?? join(environment.HOME ?? homedir(), '.npm'), '_npx')
  for (const name of listDirectory(cacheDirectory)) yield join(cacheDirectory, name)
}

function listDirectory(directory: string): string[] {
  try {
    return readdirSync(directory).sort()
  } catch {
    return []
  }
}

function findIntegrity(root: string, name: string, version: string): string | undefined {
  const key = `node_modules/${name}`
  for (const file of [join(root, 'node_modules', '.package-lock.json'), join(root, 'package-lock.json')]) {
    const entry = readLockedPackage(file, key)
    if (entry?.version === version && typeof entry.integrity === 'string') return entry.integrity
  }
  return undefined
}

function readLockedPackage(file: string, key: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const lock: unknown = JSON.parse(readFileSync(file, 'utf8'))
    const packages = isObject(lock) && isObject(lock.packages) ? lock.packages : {}
    const entry = packages[key]
    return isObject(entry) ? entry : undefined
  } catch {
    return undefined
  }
}

function identifyPythonPackage(args: readonly string[]): PackagePin {
  const from = args.indexOf('--from')
  const specifier = (from >= 0 ? args[from + 1] : args.find(arg => !arg.startsWith('-'))) ?? ''
  const [, name = specifier, version] = /^([\w.[\]-]+)(?:==|@)(\d[\w.+!-]*)$/.exec(specifier) ?? []
  if (version !== undefined) return { type: 'pypi', name, version }
  return { type: 'unpinned', reason: `${specifier} has no exact version: the next published one would run` }
}

function identifyImage(args: readonly string[]): PackagePin {
  const remainingArgs = args.slice(args.indexOf('run') + 1)
  let at = 0
  while (at < remainingArgs.length && remainingArgs[at]?.startsWith('-') === true) {
    const flag = remainingArgs[at] ?? ''
    at += BARE.test(flag) || flag.includes('=') ? 1 : 2
  }
  const name = remainingArgs[at] ?? ''
  if (/@sha256:[0-9a-f]{64}$/.test(name)) return { type: 'image', image: name }
  return { type: 'unpinned', reason: `image ${name} has no digest: its tag may change` }
}

function identifyLocalProgram(
  command: string,
  args: readonly string[],
  cwd: string,
  lookup: LookupEnvironment,
): PackagePin {
  const folders = lookup.environment.PATH?.split(delimiter)
  const isInterpreter = INTERPRETER.test(basename(command))
  const script = isInterpreter ? args.map(arg => resolve(cwd, arg)).find(isFile) : undefined
  const file = script ?? (isInterpreter ? undefined : findProgram(command, folders, cwd))
  if (file === undefined) return { type: 'unpinned', reason: `${command} is not a file that can be hashed` }
  const real = realpathSync(file)
  const sha256 = hashFile(real)
  if (sha256 === undefined) return { type: 'unpinned', reason: `${command} is not readable` }
  return identifyInstalledPackage(real, sha256) ?? { type: 'file', path: basename(real), sha256 }
}

/** Identifies the npm package that contains a file. */
function identifyInstalledPackage(file: string, sha256: string): PackagePin | undefined {
  const match = /^(.*?)\/(node_modules\/(?:.*\/node_modules\/)?((?:@[^/]+\/)?[^/]+))\//.exec(file)
  const [, root = '', key = '', name] = match ?? []
  if (name === undefined) return undefined
  const about = readLockedPackage(join(root, 'node_modules', '.package-lock.json'), key)
  const version = about?.version ?? readPackageVersion(join(root, key, 'package.json'))
  if (typeof version !== 'string') return undefined
  const integrity = typeof about?.integrity === 'string' ? { integrity: about.integrity } : {}
  return { type: 'npm', name, version, ...integrity, sha256 }
}

function readPackageVersion(file: string): unknown {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return isObject(parsed) ? parsed.version : undefined
  } catch {
    return undefined
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

function hashFile(file: string): string | undefined {
  try {
    if (statSync(file).size > MAX_BYTES) return undefined
    return createHash('sha256').update(readFileSync(file)).digest('hex')
  } catch {
    return undefined
  }
}
