import { existsSync } from 'node:fs'
import path from 'node:path'
import type { SandboxConfig } from '../../config/config.gen.ts'
import { escaped, type PrivatePlace } from '../../util/private-place.ts'
import { repositoryOf, OWN_FOLDERS, systemLinks, systemPaths, userPlaces } from './paths.ts'
import { runtimePaths, type Run } from './runtimes.ts'
import { isWithin, realOf, viewArguments, type Shown } from './mounts.ts'

/** Program that a sandbox is made around. */
interface SandboxSite extends Run {
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
  readonly outside: Readonly<Record<string, string | undefined>>
}

/** Settings that `sandbox: bwrap` stands for. The schema has the same defaults. */
const DEFAULTS: SandboxConfig = { type: 'bwrap', read: [], write: [], network: false, hide: [] }
const TEMPORARY_HOME = '/tmp/home'
/** Directories in which others have theirs: never shown unless they are named. */
const WIDE = ['/', '/home', '/root', '/etc', '/var', '/opt', '/srv', '/mnt', '/media', ...OWN_FOLDERS]

/**
 * The arguments of bwrap, up to and with `--`: an allow-list of files, and no network, process or right but those that are
 * given. The environment is the one that bwrap itself gets, so that no secret stands in a list of arguments. Throws an
 * Error for a path that cannot be shown.
 */
export function sandboxArguments(config: SandboxConfig | 'bwrap', site: SandboxSite): string[] {
  const settings = config === 'bwrap' ? DEFAULTS : config
  const home = homeOf(site)
  return [
    // No new session: what is sent to the group must reach what is inside.
    ...['--die-with-parent', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--cap-drop', 'ALL'],
    ...(settings.network ? [] : ['--unshare-net']),
    ...['--dev', '/dev', '--proc', '/proc', ...OWN_FOLDERS.flatMap(folder => ['--tmpfs', folder])],
    // The kernel lets user 0 write its settings without any capability, and bwrap leaves them as they are for that user.
    ...['--ro-bind', '/proc/sys', '/proc/sys'],
    ...systemLinks().flatMap(([name, target]) => ['--symlink', target, name]),
    ...viewArguments(shownIn(settings, site), placesOf(settings, site)),
    ...(home === TEMPORARY_HOME ? ['--dir', home] : []),
    ...(home === undefined ? [] : ['--setenv', 'HOME', home]),
    ...(site.env.TMPDIR === undefined ? [] : ['--setenv', 'TMPDIR', '/tmp']),
    ...['--remount-ro', '/', '--chdir', site.cwd, '--'],
  ]
}

function placesOf(settings: SandboxConfig, site: SandboxSite): PrivatePlace[] {
  return [...site.places, ...userPlaces(site.outside), ...hiddenIn(settings, site)]
}

/** Path of its HOME; undefined where its environment says so already. */
function homeOf({ env, outside, ownHome }: SandboxSite): string | undefined {
  if (env.HOME !== undefined && env.HOME !== outside.HOME) return undefined
  return ownHome ?? TEMPORARY_HOME
}

function shownIn({ read, write, network }: SandboxConfig, site: SandboxSite): Shown[] {
  const isWide = (name: string): boolean => isTooWide(name, site.home)
  const given = [...(site.writable ?? []), ...(homeOf(site) === site.ownHome ? [site.ownHome] : [])]
  const named: Shown[] = [
    ...read.map(name => ({ path: existing('read', name, site), from: 'configuration' as const })),
    ...write.map(name => ({
      path: existing('write', name, site),
      from: 'configuration' as const,
      mayWrite: true,
    })),
    ...given.flatMap(name =>
      name === undefined ? [] : [{ path: name, from: 'gateway' as const, mayWrite: true }],
    ),
  ]
  const found = [...systemPaths(network), ...runtimePaths(site, isWide), ...repositoryOf(site.cwd)]
  return [
    ...found.filter(file => existsSync(file)).map(file => ({ path: file, from: 'system' as const })),
    ...named,
    ...project(site, named, isWide),
  ]
}

/** The working directory, unless it is shown anyway. */
function project({ cwd }: SandboxSite, named: readonly Shown[], isWide: (name: string) => boolean): Shown[] {
  const real = realOf(cwd)
  if (OWN_FOLDERS.includes(real) || named.some(each => isWithin(real, realOf(each.path)))) return []
  if (!existsSync(cwd)) throw new Error(`its directory ${cwd} does not exist`)
  if (!isWide(cwd)) return [{ path: cwd, from: 'configuration' }]
  throw new Error(
    `its directory ${cwd} holds more than a project, so a sandbox does not show it: give the server a "cwd" of its own, or name what it needs in "sandbox.read"`,
  )
}

function isTooWide(name: string, home: string): boolean {
  const real = realOf(name)
  const inHome = ['', '.local', '.local/share', '.config', '.cache'].map(folder =>
    realOf(path.join(home, folder)),
  )
  return WIDE.includes(real) || isWithin(realOf(home), real) || inHome.includes(real)
}

function hiddenIn({ hide }: SandboxConfig, site: SandboxSite): PrivatePlace[] {
  return hide.map(name => {
    const real = realOf(absolute(name, site))
    return { directory: path.dirname(real), names: new RegExp(`^${escaped(path.basename(real))}$`) }
  })
}

function existing(key: 'read' | 'write', name: string, site: SandboxSite): string {
  const file = absolute(name, site)
  if (!existsSync(file)) throw new Error(`sandbox.${key} names ${file}, which does not exist`)
  return file
}

function absolute(name: string, { directory, home }: SandboxSite): string {
  if (name !== '~' && !name.startsWith('~/')) return path.resolve(directory, name)
  return path.join(home, name.slice(1))
}
