import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs'
import path from 'node:path'
import type { SandboxConfig } from '../config/config.gen.ts'
import type { PrivatePath } from '../util/private-path.ts'
import { escapeRegExp } from '../util/private-path.ts'
import type { SandboxedProgram } from './sandbox-paths.ts'
import {
  OWN_FOLDERS,
  findRepository,
  listRuntimePaths,
  listSystemLinks,
  listSystemPaths,
  listUserPlaces,
} from './sandbox-paths.ts'

/** A path shown in a sandbox. */
interface Mount {
  readonly path: string
  /** Private paths: shown for the gateway, an error for the configuration, skipped for the system. */
  readonly from: 'gateway' | 'configuration' | 'system'
  readonly mayWrite?: boolean
}

/** More would slow the start and exceed the argument limit. */
const MAX_MOUNTS = 2000

/**
 * Creates mount arguments that exclude private paths. A directory with private entries is rebuilt from the others, as
 * a mask over a file is lost when the file is replaced.
 */
function createMountArguments(mounts: readonly Mount[], privatePaths: readonly PrivatePath[]): string[] {
  const view = new MountPlan(privatePaths.map(resolvePlace))
  for (const each of sortMounts(mounts)) view.show(each)
  return view.arguments
}

/** Resolves links in a path's existing part. */
function resolveExisting(name: string): string {
  try {
    return realpathSync(name)
  } catch {
    const parent = path.dirname(name)
    return parent === name ? name : path.join(resolveExisting(parent), path.basename(name))
  }
}

/** True if `inner` equals or is inside `outer`. */
function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer === '/' ? '/' : `${outer}/`)
}

/** Sorts parents before children, and writable mounts first among equals. */
function sortMounts(mounts: readonly Mount[]): Mount[] {
  return mounts
    .map(each => ({ each, real: resolveExisting(each.path) }))
    .sort(
      (a, b) => a.real.length - b.real.length || Number(b.each.mayWrite ?? false) - Number(a.each.mayWrite ?? false),
    )
    .map(({ each }) => each)
}

function resolvePlace({ directory, ...rest }: PrivatePath): PrivatePath {
  return { directory: resolveExisting(directory), ...rest }
}

class MountPlan {
  readonly #privatePaths: readonly PrivatePath[]
  readonly #mounts: string[][] = []
  /** Rebuilt directories, which become read-only. */
  readonly #rebuilt: string[] = []
  readonly #names = new Set<string>()
  readonly #accepted: { readonly real: string; readonly mayWrite: boolean }[] = []

  constructor(privatePaths: readonly PrivatePath[]) {
    this.#privatePaths = privatePaths
  }

  get arguments(): string[] {
    const sealed = [...new Set(this.#rebuilt)].flatMap(directory => ['--remount-ro', directory])
    return [...this.#mounts.flat(), ...sealed]
  }

  show({ path: name, from, mayWrite = false }: Mount): void {
    const real = resolveExisting(name)
    const isPrivate = this.#isPrivate(real)
    if (isPrivate && from === 'system') return
    if (isPrivate && from === 'configuration')
      throw new Error(`${name} cannot be made available in a sandbox: it is hidden or private to the gateway`)
    if (isPrivate || !this.#isShown(real, mayWrite)) {
      this.#accepted.push({ real, mayWrite })
      this.#add(
        real,
        mayWrite,
        this.#privatePaths.filter(({ directory }) => isWithin(directory, real)),
      )
    }
    this.#addAlias(name, real)
  }

  /** Links the given name to the real path, unless it is already visible. */
  #addAlias(name: string, real: string): void {
    if (real === name || this.#names.has(name) || this.#isShown(resolveExisting(path.dirname(name)), false)) return
    this.#names.add(name)
    this.#mount('--symlink', real, name)
  }

  #isShown(real: string, mayWrite: boolean): boolean {
    return this.#accepted.some(each => (each.mayWrite || !mayWrite) && isWithin(real, each.real))
  }

  #isPrivate(real: string): boolean {
    for (let at = real; ; at = path.dirname(at)) {
      if (this.#privatePaths.some(privatePath => matchesPlace(at, privatePath))) return true
      if (at === path.dirname(at)) return false
    }
  }

  #add(real: string, mayWrite: boolean, inside: readonly PrivatePath[]): void {
    const isDirectory = lstatSync(real).isDirectory()
    if (inside.length === 0 || !isDirectory) return this.#mount(mayWrite ? '--bind' : '--ro-bind', real, real)
    this.#mount('--tmpfs', real)
    this.#rebuilt.push(real)
    for (const entry of readdirSync(real, { withFileTypes: true })) {
      const child = path.join(real, entry.name)
      const isHidden = inside.some(privatePath => matchesPlace(child, privatePath))
      if (isHidden && entry.isDirectory()) this.#mount('--dir', child)
      else if (isHidden) continue
      else if (entry.isSymbolicLink()) this.#mount('--symlink', readlinkSync(child), child)
      else
        this.#add(
          child,
          mayWrite,
          inside.filter(({ directory }) => isWithin(directory, child)),
        )
    }
  }

  #mount(...mount: string[]): void {
    if (this.#mounts.push(mount) <= MAX_MOUNTS) return
    throw new Error(`sandbox needs more than ${MAX_MOUNTS} mounts to hide private files: give the server its own "cwd"`)
  }
}

function matchesPlace(at: string, { directory, names }: PrivatePath): boolean {
  return names === undefined ? at === directory : path.dirname(at) === directory && names.test(path.basename(at))
}

interface SandboxOptions extends SandboxedProgram {
  /** Configuration directory, base for relative paths. */
  readonly directory: string
  /** User's home for `~/`; never shown as a whole. */
  readonly home: string
  /** Persistent HOME; default: temporary. */
  readonly ownHome?: string | undefined
  /** Additional writable paths. */
  readonly writable?: readonly string[] | undefined
  /** Paths hidden always. */
  readonly privatePaths: readonly PrivatePath[]
  /** Gateway environment, used to find its private directories. */
  readonly gatewayEnv: Readonly<Record<string, string | undefined>>
}

/** Meaning of `sandbox: bwrap`; must match the schema defaults. */
const DEFAULTS: SandboxConfig = { type: 'bwrap', read: [], write: [], network: false, hide: [] }
const TEMPORARY_HOME = '/tmp/home'
/** Shared directories, shown only if configured explicitly. */
const WIDE_DIRECTORIES = ['/', '/home', '/root', '/etc', '/var', '/opt', '/srv', '/mnt', '/media', ...OWN_FOLDERS]

/**
 * Arguments for bwrap including `--`: no files, network, processes or capabilities beyond the allow-list. Variables
 * are passed through bwrap's own environment, so that secrets do not appear in arguments. Throws if a path cannot be
 * shown.
 */
export function createSandboxArguments(config: SandboxConfig | 'bwrap', site: SandboxOptions): string[] {
  const settings = config === 'bwrap' ? DEFAULTS : config
  const home = getHome(site)
  return [
    // No new session, so that group signals reach the inner processes.
    ...['--die-with-parent', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--cap-drop', 'ALL'],
    ...(settings.network ? [] : ['--unshare-net']),
    ...['--dev', '/dev', '--proc', '/proc', ...OWN_FOLDERS.flatMap(folder => ['--tmpfs', folder])],
    // For uid 0 the kernel allows writing /proc/sys without capabilities, and bwrap leaves it writable.
    ...['--ro-bind', '/proc/sys', '/proc/sys'],
    ...listSystemLinks().flatMap(([name, target]) => ['--symlink', target, name]),
    ...createMountArguments(listMounts(settings, site), listHiddenPlaces(settings, site)),
    ...(home === TEMPORARY_HOME ? ['--dir', home] : []),
    ...(home === undefined ? [] : ['--setenv', 'HOME', home]),
    ...(site.env.TMPDIR === undefined ? [] : ['--setenv', 'TMPDIR', '/tmp']),
    ...['--remount-ro', '/', '--chdir', site.cwd, '--'],
  ]
}

function listHiddenPlaces(settings: SandboxConfig, site: SandboxOptions): PrivatePath[] {
  return [...site.privatePaths, ...listUserPlaces(site.gatewayEnv), ...listHidden(settings, site)]
}

/** HOME to set; undefined if the environment sets it. */
function getHome({ env, gatewayEnv, ownHome }: SandboxOptions): string | undefined {
  if (env.HOME !== undefined && env.HOME !== gatewayEnv.HOME) return undefined
  return ownHome ?? TEMPORARY_HOME
}

function listMounts({ read, write, network }: SandboxConfig, site: SandboxOptions): Mount[] {
  const isWide = (name: string): boolean => isTooWide(name, site.home)
  const writablePaths = [...(site.writable ?? []), ...(getHome(site) === site.ownHome ? [site.ownHome] : [])]
  const named: Mount[] = [
    ...read.map(name => ({ path: requirePath('read', name, site), from: 'configuration' as const })),
    ...write.map(name => ({
      path: requirePath('write', name, site),
      from: 'configuration' as const,
      mayWrite: true,
    })),
    ...writablePaths.flatMap(name =>
      name === undefined ? [] : [{ path: name, from: 'gateway' as const, mayWrite: true }],
    ),
  ]
  const systemPaths = [...listSystemPaths(network), ...listRuntimePaths(site, isWide), ...findRepository(site.cwd)]
  return [
    ...systemPaths.filter(file => existsSync(file)).map(file => ({ path: file, from: 'system' as const })),
    ...named,
    ...listProjectMounts(site, named, isWide),
  ]
}

/** The working directory, unless already shown. */
function listProjectMounts(
  { cwd }: SandboxOptions,
  named: readonly Mount[],
  isWide: (name: string) => boolean,
): Mount[] {
  const real = resolveExisting(cwd)
  if (OWN_FOLDERS.includes(real) || named.some(each => isWithin(real, resolveExisting(each.path)))) return []
  if (!existsSync(cwd)) throw new Error(`working directory ${cwd} does not exist`)
  if (!isWide(cwd)) return [{ path: cwd, from: 'configuration' }]
  throw new Error(
    `working directory ${cwd} is too broad for a sandbox: give the server its own "cwd", or list the paths it needs in "sandbox.read"`,
  )
}

function isTooWide(name: string, home: string): boolean {
  const real = resolveExisting(name)
  const inHome = ['', '.local', '.local/share', '.config', '.cache'].map(folder =>
    resolveExisting(path.join(home, folder)),
  )
  return WIDE_DIRECTORIES.includes(real) || isWithin(resolveExisting(home), real) || inHome.includes(real)
}

function listHidden({ hide }: SandboxConfig, site: SandboxOptions): PrivatePath[] {
  return hide.map(name => {
    const real = resolveExisting(resolveUserPath(name, site))
    return { directory: path.dirname(real), names: new RegExp(`^${escapeRegExp(path.basename(real))}$`) }
  })
}

function requirePath(key: 'read' | 'write', name: string, site: SandboxOptions): string {
  const file = resolveUserPath(name, site)
  if (!existsSync(file)) throw new Error(`sandbox.${key}: ${file} does not exist`)
  return file
}

function resolveUserPath(name: string, { directory, home }: SandboxOptions): string {
  if (name !== '~' && !name.startsWith('~/')) return path.resolve(directory, name)
  return path.join(home, name.slice(1))
}
