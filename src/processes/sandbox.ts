import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs'
import path from 'node:path'
import type { SandboxConfig } from '../config/config.gen.ts'
import type { PrivatePlace } from '../util/private-place.ts'
import { escaped } from '../util/private-place.ts'
import type { SandboxedProgram } from './sandbox-paths.ts'
import {
  OWN_FOLDERS,
  findRepository,
  listRuntimePaths,
  listSystemLinks,
  listSystemPaths,
  listUserPlaces,
} from './sandbox-paths.ts'

/** One thing that a sandbox shows. */
interface Mount {
  readonly path: string
  /** A private path is shown for the gateway itself, refused to a configuration, and left out of what was found. */
  readonly from: 'gateway' | 'configuration' | 'system'
  readonly mayWrite?: boolean
}

/** More mounts make a start slow, and a list of arguments too long. */
const MAX_MOUNTS = 2000

/**
 * The arguments that show files in a sandbox, and nothing private among them. A directory with something private in it is
 * built anew from its other entries: a mask over a file is gone when somebody else replaces that file.
 */
function createMountArguments(shown: readonly Mount[], places: readonly PrivatePlace[]): string[] {
  const view = new MountPlan(places.map(resolvePlace))
  for (const each of sortMounts(shown)) view.show(each)
  return view.arguments
}

/** A path with its links resolved, as far as it exists. */
function resolveExisting(name: string): string {
  try {
    return realpathSync(name)
  } catch {
    const parent = path.dirname(name)
    return parent === name ? name : path.join(resolveExisting(parent), path.basename(name))
  }
}

/** True when a path is another, or lies in it. */
function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer === '/' ? '/' : `${outer}/`)
}

/** Directories before what is in them, and what may be written last of equals. */
function sortMounts(shown: readonly Mount[]): Mount[] {
  return shown
    .map(each => ({ each, real: resolveExisting(each.path) }))
    .sort(
      (a, b) =>
        comparePaths(a.real, b.real) || Number(b.each.mayWrite ?? false) - Number(a.each.mayWrite ?? false),
    )
    .map(({ each }) => each)
}

function comparePaths(a: string, b: string): number {
  const [left, right] = [a, b].map(each => each.replaceAll('/', '\0'))
  return left === right ? 0 : (left ?? '') < (right ?? '') ? -1 : 1
}

function resolvePlace({ directory, ...rest }: PrivatePlace): PrivatePlace {
  return { directory: resolveExisting(directory), ...rest }
}

class MountPlan {
  readonly #places: readonly PrivatePlace[]
  readonly #mounts: string[][] = []
  /** Directories that were built anew: nothing can be added to them. */
  readonly #rebuilt: string[] = []
  readonly #names = new Set<string>()
  readonly #accepted: { readonly real: string; readonly mayWrite: boolean }[] = []

  constructor(places: readonly PrivatePlace[]) {
    this.#places = places
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
      throw new Error(`a sandbox does not show ${name}: it is hidden, or the gateway's own`)
    if (isPrivate || !this.#isShown(real, mayWrite)) {
      this.#accepted.push({ real, mayWrite })
      this.#add(
        real,
        mayWrite,
        this.#places.filter(({ directory }) => isWithin(directory, real)),
      )
    }
    this.#addAlias(name, real)
  }

  /** The name it is known by, unless that is reached through what is shown already. */
  #addAlias(name: string, real: string): void {
    if (real === name || this.#names.has(name) || this.#isShown(resolveExisting(path.dirname(name)), false))
      return
    this.#names.add(name)
    this.#mount('--symlink', real, name)
  }

  #isShown(real: string, mayWrite: boolean): boolean {
    return this.#accepted.some(each => (each.mayWrite || !mayWrite) && isWithin(real, each.real))
  }

  #isPrivate(real: string): boolean {
    for (let at = real; ; at = path.dirname(at)) {
      if (this.#places.some(place => matchesPlace(at, place))) return true
      if (at === path.dirname(at)) return false
    }
  }

  #add(real: string, mayWrite: boolean, inside: readonly PrivatePlace[]): void {
    const isDirectory = lstatSync(real).isDirectory()
    if (inside.length === 0 || !isDirectory) return this.#mount(mayWrite ? '--bind' : '--ro-bind', real, real)
    this.#mount('--tmpfs', real)
    this.#rebuilt.push(real)
    for (const entry of readdirSync(real, { withFileTypes: true })) {
      const child = path.join(real, entry.name)
      const isHidden = inside.some(place => matchesPlace(child, place))
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
    throw new Error(
      `the sandbox would have more than ${MAX_MOUNTS} mounts, as private files lie beside so many others: give the server a "cwd" of its own`,
    )
  }
}

function matchesPlace(at: string, { directory, names }: PrivatePlace): boolean {
  return names === undefined
    ? at === directory
    : path.dirname(at) === directory && names.test(path.basename(at))
}

/** Program that a sandbox is made around. */
interface SandboxOptions extends SandboxedProgram {
  /** Directory of the configuration; relative paths are relative to it. */
  readonly directory: string
  /** Home directory of the user, for `~/`; never shown as a whole. */
  readonly home: string
  /** A HOME that is kept from one run to the next; undefined for one that ends with the process. */
  readonly ownHome?: string | undefined
  /** Paths that can be written besides those that the configuration names. */
  readonly writable?: readonly string[] | undefined
  /** Paths that are never shown. */
  readonly places: readonly PrivatePlace[]
  /** The gateway's own environment, which says where it keeps what is its own. */
  readonly gatewayEnv: Readonly<Record<string, string | undefined>>
}

/** Settings that `sandbox: bwrap` stands for. The schema has the same defaults. */
const DEFAULTS: SandboxConfig = { type: 'bwrap', read: [], write: [], network: false, hide: [] }
const TEMPORARY_HOME = '/tmp/home'
/** Directories in which others have theirs: never shown unless they are named. */
const WIDE_DIRECTORIES = [
  '/',
  '/home',
  '/root',
  '/etc',
  '/var',
  '/opt',
  '/srv',
  '/mnt',
  '/media',
  ...OWN_FOLDERS,
]

/**
 * The arguments of bwrap, up to and with `--`: an allow-list of files, and no network, process or right but those that are
 * given. The environment is the one that bwrap itself gets, so that no secret stands in a list of arguments. Throws an
 * Error for a path that cannot be shown.
 */
export function createSandboxArguments(config: SandboxConfig | 'bwrap', site: SandboxOptions): string[] {
  const settings = config === 'bwrap' ? DEFAULTS : config
  const home = getHome(site)
  return [
    // No new session: what is sent to the group must reach what is inside.
    ...['--die-with-parent', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--cap-drop', 'ALL'],
    ...(settings.network ? [] : ['--unshare-net']),
    ...['--dev', '/dev', '--proc', '/proc', ...OWN_FOLDERS.flatMap(folder => ['--tmpfs', folder])],
    // The kernel lets user 0 write its settings without any capability, and bwrap leaves them as they are for that user.
    ...['--ro-bind', '/proc/sys', '/proc/sys'],
    ...listSystemLinks().flatMap(([name, target]) => ['--symlink', target, name]),
    ...createMountArguments(listMounts(settings, site), listHiddenPlaces(settings, site)),
    ...(home === TEMPORARY_HOME ? ['--dir', home] : []),
    ...(home === undefined ? [] : ['--setenv', 'HOME', home]),
    ...(site.env.TMPDIR === undefined ? [] : ['--setenv', 'TMPDIR', '/tmp']),
    ...['--remount-ro', '/', '--chdir', site.cwd, '--'],
  ]
}

function listHiddenPlaces(settings: SandboxConfig, site: SandboxOptions): PrivatePlace[] {
  return [...site.places, ...listUserPlaces(site.gatewayEnv), ...listHidden(settings, site)]
}

/** Path of its HOME; undefined where its environment says so already. */
function getHome({ env, gatewayEnv, ownHome }: SandboxOptions): string | undefined {
  if (env.HOME !== undefined && env.HOME !== gatewayEnv.HOME) return undefined
  return ownHome ?? TEMPORARY_HOME
}

function listMounts({ read, write, network }: SandboxConfig, site: SandboxOptions): Mount[] {
  const isWide = (name: string): boolean => isTooWide(name, site.home)
  const given = [...(site.writable ?? []), ...(getHome(site) === site.ownHome ? [site.ownHome] : [])]
  const named: Mount[] = [
    ...read.map(name => ({ path: requirePath('read', name, site), from: 'configuration' as const })),
    ...write.map(name => ({
      path: requirePath('write', name, site),
      from: 'configuration' as const,
      mayWrite: true,
    })),
    ...given.flatMap(name =>
      name === undefined ? [] : [{ path: name, from: 'gateway' as const, mayWrite: true }],
    ),
  ]
  const found = [...listSystemPaths(network), ...listRuntimePaths(site, isWide), ...findRepository(site.cwd)]
  return [
    ...found.filter(file => existsSync(file)).map(file => ({ path: file, from: 'system' as const })),
    ...named,
    ...listProjectMounts(site, named, isWide),
  ]
}

/** The working directory, unless it is shown anyway. */
function listProjectMounts(
  { cwd }: SandboxOptions,
  named: readonly Mount[],
  isWide: (name: string) => boolean,
): Mount[] {
  const real = resolveExisting(cwd)
  if (OWN_FOLDERS.includes(real) || named.some(each => isWithin(real, resolveExisting(each.path)))) return []
  if (!existsSync(cwd)) throw new Error(`its directory ${cwd} does not exist`)
  if (!isWide(cwd)) return [{ path: cwd, from: 'configuration' }]
  throw new Error(
    `its directory ${cwd} holds more than a project, so a sandbox does not show it: give the server a "cwd" of its own, or name what it needs in "sandbox.read"`,
  )
}

function isTooWide(name: string, home: string): boolean {
  const real = resolveExisting(name)
  const inHome = ['', '.local', '.local/share', '.config', '.cache'].map(folder =>
    resolveExisting(path.join(home, folder)),
  )
  return WIDE_DIRECTORIES.includes(real) || isWithin(resolveExisting(home), real) || inHome.includes(real)
}

function listHidden({ hide }: SandboxConfig, site: SandboxOptions): PrivatePlace[] {
  return hide.map(name => {
    const real = resolveExisting(resolveUserPath(name, site))
    return { directory: path.dirname(real), names: new RegExp(`^${escaped(path.basename(real))}$`) }
  })
}

function requirePath(key: 'read' | 'write', name: string, site: SandboxOptions): string {
  const file = resolveUserPath(name, site)
  if (!existsSync(file)) throw new Error(`sandbox.${key} names ${file}, which does not exist`)
  return file
}

function resolveUserPath(name: string, { directory, home }: SandboxOptions): string {
  if (name !== '~' && !name.startsWith('~/')) return path.resolve(directory, name)
  return path.join(home, name.slice(1))
}
