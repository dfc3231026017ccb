import { existsSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import type { SandboxConfig } from '../config/config.gen.ts'

/** What a sandbox is made around. */
export interface SandboxSite {
  /** Directory of the configuration; relative paths are relative to it. */
  readonly directory: string
  readonly cwd: string
  /** Home directory of the user, for `~/`. */
  readonly home: string
  /** The program that will run, as an absolute path. */
  readonly program: string
  /** What can be written besides what the configuration names. */
  readonly writable?: readonly string[] | undefined
}

/** What `sandbox: bwrap` stands for. The schema has the same defaults. */
const DEFAULTS: SandboxConfig = {
  type: 'bwrap',
  write: [],
  network: false,
  hide: [
    '~/.ssh',
    '~/.gnupg',
    '~/.aws',
    '~/.azure',
    '~/.config/gcloud',
    '~/.kube',
    '~/.docker',
    '~/.netrc',
    '~/.npmrc',
    '~/.git-credentials',
  ],
}

/** Where others leave sockets and files: empty in a sandbox, but for what the server needs. */
const EMPTIED = ['/tmp', '/var/tmp', '/run']
const RESOLVER = '/etc/resolv.conf'
/** Where NixOS has its programs. */
const SYSTEM = '/run/current-system'

/**
 * The arguments of bwrap, up to and with `--`. The environment is the one that bwrap itself gets, so that no secret
 * stands in a list of arguments. Throws an Error for a path that must exist and does not.
 */
export function sandboxArguments(config: SandboxConfig | 'bwrap', site: SandboxSite): string[] {
  const { write, network, hide } = config === 'bwrap' ? DEFAULTS : config
  return [
    // No new session: what is sent to the group must reach what is inside.
    ...['--die-with-parent', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--cap-drop', 'ALL'],
    ...(network ? [] : ['--unshare-net']),
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...emptied(site, network),
    ...[...write, ...(site.writable ?? [])].flatMap(name => writable(absolute(name, site))),
    ...hide.flatMap(name => hidden(absolute(name, site))),
    ...['--chdir', site.cwd, '--'],
  ]
}

function emptied({ directory, cwd, program }: SandboxSite, network: boolean): string[] {
  const single = [SYSTEM, ...(network ? [RESOLVER] : [])].filter(existsSync).map(file => realpathSync(file))
  const projects = [directory, cwd, program].filter(existsSync).flatMap(withProject)
  const inside = [...new Set([...single, ...projects])].filter(file => folderOf(file) !== undefined)
  return [
    ...EMPTIED.filter(folder => existsSync(folder) && realpathSync(folder) === folder).flatMap(folder => [
      '--tmpfs',
      folder,
    ]),
    ...inside.sort().flatMap(file => ['--ro-bind', file, file]),
  ]
}

/** Whoever has a project in `/tmp` has all of it in one directory there, and it belongs together. */
function withProject(file: string): string[] {
  return [file, realpathSync(file)].map(name => {
    const folder = folderOf(name)
    return folder === undefined ? name : path.join(folder, name.slice(folder.length + 1).split('/')[0] ?? '')
  })
}

function folderOf(file: string): string | undefined {
  return EMPTIED.find(folder => file.startsWith(`${folder}/`))
}

function writable(file: string): string[] {
  if (!existsSync(file)) throw new Error(`sandbox.write names ${file}, which does not exist`)
  return ['--bind', file, file]
}

function hidden(file: string): string[] {
  try {
    // A mount point must not be reached over a link.
    const real = realpathSync(file)
    return statSync(real).isDirectory() ? ['--tmpfs', real] : ['--ro-bind', '/dev/null', real]
  } catch {
    // What we cannot reach the server cannot reach either.
    return []
  }
}

function absolute(name: string, { directory, home }: SandboxSite): string {
  if (name !== '~' && !name.startsWith('~/')) return path.resolve(directory, name)
  return path.join(home, name.slice(1))
}
