import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { homedir, tmpdir } from 'node:os'
import type { PrivatePlace } from '../../util/private-place.ts'

/** Directories for temporary files that a gateway makes: control sockets, HOMEs and worktrees of agents. */
const TEMPORARY = /^tapgate-(\d+$|agent-|worktrees-)/

const OWN = /^tapgate$/
/** Programs and libraries of the system. */
const PROGRAMS = ['/usr', '/nix/store', '/run/current-system', '/var/lib/ca-certificates']

/** The same where they are folders of their own, and not links into /usr. */
const MERGED = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** Files in which programs look up the machine. /etc as a whole has passwords, private keys and tokens. */
const FACTS = inEtc(
  'alternatives crypto-policies fonts group java ld.so.cache localtime mime.types os-release passwd ssl/openssl.cnf static timezone',
)

/** The same for those that have a network. Each mount costs a start a fraction of a millisecond. */
const NETWORK_FACTS = inEtc(
  'ca-certificates gai.conf hosts nsswitch.conf pki/ca-trust pki/tls/cert.pem pki/tls/certs protocols resolv.conf services ssl/cert.pem ssl/certs',
)

/** Directories in which others leave files and sockets: a sandbox has these for itself. */
export const OWN_FOLDERS = ['/tmp', '/var/tmp', '/run']

/** Paths of the system that a sandbox shows. */
export function systemPaths(hasNetwork: boolean): string[] {
  const folders = MERGED.filter(folder => !isLink(folder))
  return [...PROGRAMS, ...folders, ...FACTS, ...(hasNetwork ? NETWORK_FACTS : [])].filter(path =>
    existsSync(path),
  )
}

/** Links at the root that lead into the system: the path and what it says. */
export function systemLinks(): [path: string, target: string][] {
  return MERGED.filter(isLink).map(folder => [folder, readlinkSync(folder)])
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

function inEtc(names: string): string[] {
  return names.split(' ').map(name => `/etc/${name}`)
}

/**
 * The repository of a git worktree, without which git does nothing there. Only where the repository says that the worktree
 * is its own: what runs in a worktree can write the file that names the repository.
 */
export function repositoryOf(directory: string): string[] {
  try {
    const [, named] = /^gitdir: (.+)/.exec(readFileSync(path.join(directory, '.git'), 'utf8')) ?? []
    if (named === undefined) return []
    const own = realpathSync(path.resolve(directory, named))
    const back = realpathSync(readFileSync(path.join(own, 'gitdir'), 'utf8').trim())
    const isOwn = back === realpathSync(path.join(directory, '.git'))
    const worktrees = path.dirname(own)
    return isOwn && path.basename(worktrees) === 'worktrees' ? [path.dirname(worktrees)] : []
  } catch {
    return []
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/** Directories in which every gateway of this user keeps what is its own, whatever its configuration says. */
export function userPlaces(environment: Environment): PrivatePlace[] {
  const { TMPDIR = tmpdir() } = environment
  const temporary = [TMPDIR, '/tmp'].map(directory => ({ directory, names: TEMPORARY }))
  return [...temporary, ...ownFolders(environment)]
}

/** Those of them that last: state, cache, configuration and sockets. */
export function ownFolders(environment: Environment): PrivatePlace[] {
  const { HOME = homedir(), XDG_RUNTIME_DIR, LOCALAPPDATA } = environment
  const { XDG_STATE_HOME = path.join(HOME, '.local/state') } = environment
  const { XDG_CACHE_HOME = path.join(HOME, '.cache'), XDG_CONFIG_HOME = path.join(HOME, '.config') } =
    environment
  const own = [XDG_RUNTIME_DIR, LOCALAPPDATA, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME]
  return own.flatMap(directory =>
    directory !== undefined && path.isAbsolute(directory) ? [{ directory, names: OWN }] : [],
  )
}
