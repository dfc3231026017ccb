import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { findProgram } from '../util/find-program.ts'
import { splitPath } from '../util/platform.ts'
import type { PrivatePlace } from '../util/private-place.ts'

/** Program that is run. */
export interface SandboxedProgram {
  /** Absolute. */
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
  /** The environment of the child. */
  readonly env: Readonly<Record<string, string>>
}

/** More links and interpreters than any program has. */
const MAX_FILES = 64
const MAX_LINE = 512
/** Folders of programs, which need those beside them. */
const PROGRAM_FOLDER = /^(bin|sbin|libexec|shims)$/
/** Directories in which version managers have scripts that look for the program in the rest of what is theirs. */
const SHIMS = 'shims'
/** Certificates that runtimes are told of. */
const CERTIFICATES = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR']

/**
 * Lists what a command needs to be seen beside the system: its file and those that its arguments name, what they lead to, their
 * interpreters, and the installations that these belong to.
 */
export function listRuntimePaths(
  { program, args, cwd, env }: SandboxedProgram,
  isTooWide: (path: string) => boolean,
): string[] {
  const found = new Set<string>()
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file) || seen.size >= MAX_FILES) return
    seen.add(file)
    found.add(findOwnFolder(file, isTooWide))
    for (const next of [readLink(file), resolveRealPath(file), findInterpreter(file, env.PATH, cwd)])
      if (next !== undefined) visit(next)
  }
  const named = args.map(arg => path.resolve(cwd, arg)).filter(isFile)
  for (const file of [program, ...named]) visit(file)
  for (const name of CERTIFICATES) if (env[name]) found.add(path.resolve(cwd, env[name]))
  return [...found]
}

/** The folder of packages or the installation that a file is part of; else the file alone. */
function findOwnFolder(file: string, isTooWide: (path: string) => boolean): string {
  const parts = file.split('/')
  const packages = parts.indexOf('node_modules')
  if (packages > 0) return parts.slice(0, packages + 1).join('/')
  const folder = path.dirname(file)
  if (!PROGRAM_FOLDER.test(path.basename(folder))) return file
  const installation = path.dirname(folder)
  const isInstallation = path.basename(folder) === SHIMS || isDirectory(path.join(installation, 'lib'))
  if (isInstallation && !isTooWide(installation)) return installation
  return isTooWide(folder) ? file : folder
}

function readLink(file: string): string | undefined {
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return undefined
  return path.resolve(path.dirname(file), readlinkSync(file))
}

function resolveRealPath(file: string): string | undefined {
  try {
    return realpathSync(file)
  } catch {
    return undefined
  }
}

/** Reads the interpreter from the first line of a script; `env` means that it is looked for. */
function findInterpreter(file: string, searchPath: string | undefined, cwd: string): string | undefined {
  const [program, ...words] = /^#! *(.+)/.exec(readFirstLine(file))?.[1]?.trim().split(/\s+/) ?? []
  if (program === undefined || path.basename(program) !== 'env') return program
  const name = words.find(word => !word.startsWith('-') && !word.includes('='))
  return name === undefined ? undefined : findProgram(name, splitPath(searchPath), cwd)
}

function readFirstLine(file: string): string {
  if (!isFile(file)) return ''
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    const bytes = Buffer.alloc(MAX_LINE)
    return bytes.toString('latin1', 0, readSync(descriptor, bytes)).split('\n', 1)[0] ?? ''
  } catch {
    return ''
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function isFile(file: string): boolean {
  return !file.includes('\0') && (statSync(file, { throwIfNoEntry: false })?.isFile() ?? false)
}

function isDirectory(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Directories for temporary files that a gateway makes: control sockets, HOMEs and worktrees of agents. */
const TEMPORARY = /^tapgate-(\d+$|agent-|worktrees-)/

const OWN = /^tapgate$/
/** Programs and libraries of the system. */
const PROGRAMS = ['/usr', '/nix/store', '/run/current-system', '/var/lib/ca-certificates']

/** The same where they are folders of their own, and not links into /usr. */
const MERGED = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** Files in which programs look up the machine. /etc as a whole has passwords, private keys and tokens. */
const ETC_FILES = toEtcPaths(
  'alternatives crypto-policies fonts group java ld.so.cache localtime mime.types os-release passwd ssl/openssl.cnf static timezone',
)

/** The same for those that have a network. Each mount costs a start a fraction of a millisecond. */
const NETWORK_ETC_FILES = toEtcPaths(
  'ca-certificates gai.conf hosts nsswitch.conf pki/ca-trust pki/tls/cert.pem pki/tls/certs protocols resolv.conf services ssl/cert.pem ssl/certs',
)

/** Directories in which others leave files and sockets: a sandbox has these for itself. */
export const OWN_FOLDERS = ['/tmp', '/var/tmp', '/run']

/** Paths of the system that a sandbox shows. */
export function listSystemPaths(hasNetwork: boolean): string[] {
  const folders = MERGED.filter(folder => !isLink(folder))
  return [...PROGRAMS, ...folders, ...ETC_FILES, ...(hasNetwork ? NETWORK_ETC_FILES : [])].filter(path =>
    existsSync(path),
  )
}

/** Links at the root that lead into the system: the path and what it says. */
export function listSystemLinks(): [path: string, target: string][] {
  return MERGED.filter(isLink).map(folder => [folder, readlinkSync(folder)])
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

function toEtcPaths(names: string): string[] {
  return names.split(' ').map(name => `/etc/${name}`)
}

/**
 * The repository of a git worktree, without which git does nothing there. Only where the repository says that the worktree
 * is its own: what runs in a worktree can write the file that names the repository.
 */
export function findRepository(directory: string): string[] {
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

type UserEnvironment = Readonly<Record<string, string | undefined>>

/** Directories in which every gateway of this user keeps what is its own, whatever its configuration says. */
export function listUserPlaces(environment: UserEnvironment): PrivatePlace[] {
  const { TMPDIR = tmpdir() } = environment
  const temporary = [TMPDIR, '/tmp'].map(directory => ({ directory, names: TEMPORARY }))
  return [...temporary, ...listOwnFolders(environment)]
}

/** Those of them that last: state, cache, configuration and sockets. */
export function listOwnFolders(environment: UserEnvironment): PrivatePlace[] {
  const { HOME = homedir(), XDG_RUNTIME_DIR, LOCALAPPDATA } = environment
  const { XDG_STATE_HOME = path.join(HOME, '.local/state') } = environment
  const { XDG_CACHE_HOME = path.join(HOME, '.cache'), XDG_CONFIG_HOME = path.join(HOME, '.config') } =
    environment
  const own = [XDG_RUNTIME_DIR, LOCALAPPDATA, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME]
  return own.flatMap(directory =>
    directory !== undefined && path.isAbsolute(directory) ? [{ directory, names: OWN }] : [],
  )
}
