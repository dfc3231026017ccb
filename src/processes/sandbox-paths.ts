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
import type { PrivatePath } from '../util/private-path.ts'

export interface SandboxedProgram {
  /** Absolute path. */
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
  /** Child environment. */
  readonly env: Readonly<Record<string, string>>
}

/** Limit on followed links and interpreters. */
const MAX_FILES = 64
const MAX_LINE = 512
/** Program folders, whose files need each other. */
const PROGRAM_FOLDER = /^(bin|sbin|libexec|shims)$/
/** Version managers' script folders, which need the whole installation. */
const SHIMS = 'shims'
/** CA variables of runtimes. */
const CERTIFICATES = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR']

/**
 * Lists the paths that a command needs in addition to the system's: its file, file arguments, link targets,
 * interpreters, and their installations.
 */
export function listRuntimePaths(
  { program, args, cwd, env }: SandboxedProgram,
  isTooWide: (path: string) => boolean,
): string[] {
  const folders = new Set<string>()
  const visited = new Set<string>()
  const visit = (file: string): void => {
    if (visited.has(file) || visited.size >= MAX_FILES) return
    visited.add(file)
    folders.add(findOwnFolder(file, isTooWide))
    for (const next of [resolveRealPath(file), findInterpreter(file, env.PATH, cwd)])
      if (next !== undefined) visit(next)
  }
  const named = args.map(arg => path.resolve(cwd, arg)).filter(isFile)
  for (const file of [program, ...named]) visit(file)
  for (const name of CERTIFICATES) if (env[name]) folders.add(path.resolve(cwd, env[name]))
  return [...folders]
}

/** The node_modules folder or installation that contains a file; else the file. */
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

function resolveRealPath(file: string): string | undefined {
  try {
    return realpathSync(file)
  } catch {
    return undefined
  }
}

/** Interpreter from a shebang; resolves `env` through PATH. */
function findInterpreter(file: string, searchPath: string | undefined, cwd: string): string | undefined {
  const [program, ...shebangArgs] = /^#! *(.+)/.exec(readFirstLine(file))?.[1]?.trim().split(/\s+/) ?? []
  if (program === undefined || path.basename(program) !== 'env') return program
  const name = shebangArgs.find(arg => !arg.startsWith('-') && !arg.includes('='))
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

/** Temporary directories of gateways: control sockets, agents' HOMEs and worktrees. */
const TEMPORARY = /^tapgate-(\d+$|agent-|worktrees-)/

const OWN = /^tapgate$/
/** System programs and libraries. */
const PROGRAMS = ['/usr', '/nix/store', '/run/current-system', '/var/lib/ca-certificates']

/** Shown only if they are directories, not links into /usr. */
const MERGED = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** Files in /etc that programs read. The rest may hold passwords, keys and tokens. */
const ETC_FILES = toEtcPaths(
  'alternatives crypto-policies fonts group java ld.so.cache localtime mime.types os-release passwd ssl/openssl.cnf static timezone',
)

/** Additional files with network access. Each mount slows a start slightly. */
const NETWORK_ETC_FILES = toEtcPaths(
  'ca-certificates gai.conf hosts nsswitch.conf pki/ca-trust pki/tls/cert.pem pki/tls/certs protocols resolv.conf services ssl/cert.pem ssl/certs',
)

/** Shared temporary directories, private in a sandbox. */
export const OWN_FOLDERS = ['/tmp', '/var/tmp', '/run']

/** System paths that a sandbox shows. */
export function listSystemPaths(hasNetwork: boolean): string[] {
  const folders = MERGED.filter(folder => !isLink(folder))
  return [...PROGRAMS, ...folders, ...ETC_FILES, ...(hasNetwork ? NETWORK_ETC_FILES : [])].filter(path =>
    existsSync(path),
  )
}

/** Root links into the system, with their targets. */
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
 * The repository of a git worktree, needed for git. Verified from the repository's side, as the sandboxed program can
 * write the worktree's pointer.
 */
export function findRepository(directory: string): string[] {
  try {
    const [, named] = /^gitdir: (.+)/.exec(readFileSync(path.join(directory, '.git'), 'utf8')) ?? []
    if (named === undefined) return []
    const own = realpathSync(path.resolve(directory, named))
    const gitFile = realpathSync(readFileSync(path.join(own, 'gitdir'), 'utf8').trim())
    const isOwn = gitFile === realpathSync(path.join(directory, '.git'))
    const worktrees = path.dirname(own)
    return isOwn && path.basename(worktrees) === 'worktrees' ? [path.dirname(worktrees)] : []
  } catch {
    return []
  }
}

type UserEnvironment = Readonly<Record<string, string | undefined>>

/** Private directories of all gateways of this user. */
export function listUserPlaces(environment: UserEnvironment): PrivatePath[] {
  const { TMPDIR = tmpdir() } = environment
  const temporary = [TMPDIR, '/tmp'].map(directory => ({ directory, names: TEMPORARY }))
  return [...temporary, ...listOwnFolders(environment)]
}

/** The persistent ones: state, cache, configuration and sockets. */
export function listOwnFolders(environment: UserEnvironment): PrivatePath[] {
  const { HOME = homedir(), XDG_RUNTIME_DIR, LOCALAPPDATA } = environment
  const { XDG_STATE_HOME = path.join(HOME, '.local/state') } = environment
  const { XDG_CACHE_HOME = path.join(HOME, '.cache'), XDG_CONFIG_HOME = path.join(HOME, '.config') } = environment
  const own = [XDG_RUNTIME_DIR, LOCALAPPDATA, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME]
  return own.flatMap(directory =>
    directory !== undefined && path.isAbsolute(directory) ? [{ directory, names: OWN }] : [],
  )
}
