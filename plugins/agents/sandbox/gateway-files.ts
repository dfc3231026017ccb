import { readdirSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import path from 'node:path'
import { type Clock, type Config, isObject, type PrivatePlace, type Programs } from '../../../src/plugin.ts'
import { isWithin } from './paths.ts'
import type { AgentSettings } from '../types/settings.ts'

const MAX_PATH = 4096

const MAX_FILES = 4096

/** Names of the gateway's own files. */
interface OwnFiles {
  readonly config: Config
  /** Directory that relative paths in it are relative to. */
  readonly directory: string
  readonly state: string | undefined
  /** Places that only the gateway may see. */
  readonly privatePlaces: readonly PrivatePlace[]
}

/** Use that an agent wants to make of a file: files that the gateway runs may be read, those that it keeps may not. */
type Use = 'read' | 'write'

interface Own {
  /** As it is named, where it is one file or directory; what that leads to is looked up each time. */
  readonly file: string | undefined
  /** True if an agent may read it. */
  readonly isReadable: boolean
  /** All that was seen there, wherever it has been moved since. */
  readonly inodes: Set<string>
  /** Tells whether it covers a folded path. */
  covers(folded: string): boolean
}

/** Names that a gateway looks for by itself, in any directory that it is started in. */
const CONFIGURATION = /^gateway(\.[a-z0-9][a-z0-9_-]*)?\.(ya?ml|json|lock)$/

const MODULE = /(\.[cm]?[jt]sx?|^package(-lock)?\.json)$/i

const SCRIPT = /\.[cm]?[jt]sx?$/i

const IMPORT = /(?:from|import|require)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g

const PYTHON_IMPORT = /^\s*(?:from|import)\s+([\w.]+)/gm

const MAX_SCRIPT_BYTES = 1024 * 1024

/** Folders of the state directory that tasks work in. */
const WORKPLACES = ['worktrees', 'scratch']

const WHY = 'is a file of the gateway itself'

/**
 * The files that make the gateway what it is: configuration and all that it names, plugins, state, audit. No agent writes
 * them, whatever its roots are and whatever way a path takes: it has been followed to its end, is compared without regard
 * to case, and what was moved is known by its inode.
 */
export class Protected {
  readonly #own: readonly Own[]
  readonly #open: readonly string[]
  /** The directory of the configuration, where plugins are installed in it or above. */
  readonly #installed: string | undefined

  constructor(files: OwnFiles) {
    const { config, directory, state } = files
    this.#own = ownFiles(files)
    this.#open = state === undefined ? [] : WORKPLACES.map(name => fold(realOrSame(path.join(state, name))))
    this.#installed = Object.keys(config.plugins).length === 0 ? undefined : fold(realOrSame(directory))
  }

  /** Why an agent may not have what is, or would be, at a real path; undefined when it may. */
  whyNot(real: string, use: Use): string | undefined {
    const folded = fold(real)
    if (this.#open.some(place => isWithin(place, folded))) return undefined
    const own = this.#own.filter(({ isReadable }) => use === 'write' || !isReadable)
    const isOwn = own.some(each => each.covers(folded)) || isMoved(own, real)
    const isCode = use === 'write' && (this.#isInstalled(folded) || isConfiguration(folded))
    return isOwn || isCode ? WHY : undefined
  }

  #isInstalled(folded: string): boolean {
    const at = folded.indexOf('/node_modules')
    return this.#installed !== undefined && at >= 0 && isWithin(folded.slice(0, at), this.#installed)
  }
}

function isConfiguration(folded: string): boolean {
  return CONFIGURATION.test(path.posix.basename(folded))
}

/** True if a file, or a directory that it is in, is the gateway's under another name. */
function isMoved(own: readonly Own[], real: string): boolean {
  for (const { file, inodes } of own) noteFile(file, inodes)
  for (let at = real; at !== '/' && at !== '.'; at = path.posix.dirname(at)) {
    const inode = inodeOf(at)
    if (inode !== undefined && own.some(({ inodes }) => inodes.has(inode))) return true
  }
  return false
}

function ownFiles({ config, directory, privatePlaces }: OwnFiles): Own[] {
  return [
    ...privatePlaces.map(ownPlace),
    ...filesNamedIn(config, directory).map(ownFile),
    ...Object.values(config.plugins).flatMap(({ use }) => filesOfPlugin(use, directory)),
    ...scriptsOf(filesNamedIn(config.upstreams, directory)).map(ownFile),
  ]
}

/** A plugin with what stands beside it, which it may import. */
function filesOfPlugin(use: string, directory: string): Own[] {
  if (!use.startsWith('.') && !path.isAbsolute(use)) return []
  const folder = path.dirname(path.resolve(directory, use))
  if (!isWithin(folder, directory)) return [ownPlace({ directory: folder, isCode: true })]
  const modules = namesIn(folder).filter(name => MODULE.test(name))
  return modules.map(name => ownFile(path.join(folder, name)))
}

/** The scripts that servers run, with what they import from files beside or below them, and so on. */
function scriptsOf(files: readonly string[]): string[] {
  const found = new Set(files)
  for (const file of found)
    for (const imported of importsOf(file)) if (found.size < MAX_FILES) found.add(imported)
  return [...found]
}

function importsOf(file: string): string[] {
  const isPython = file.endsWith('.py')
  if (!isPython && !SCRIPT.test(file)) return []
  const folder = path.dirname(file)
  return [...textOf(file).matchAll(isPython ? PYTHON_IMPORT : IMPORT)].flatMap(([, name = '']) => {
    const bare = isPython ? name.replace(/^\.+/, '').replaceAll('.', '/') : name
    const endings = isPython
      ? ['.py', '/__init__.py']
      : ['', '.js', '.mjs', '.cjs', '.ts', '/index.js', '.json']
    return endings
      .map(ending => path.resolve(folder, `${bare}${ending}`))
      .filter(candidate => statOf(candidate)?.isFile() === true)
  })
}

function textOf(file: string): string {
  try {
    return (statOf(file)?.size ?? 0) > MAX_SCRIPT_BYTES ? '' : readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** A directory, or entries of one, also those that are not there yet. Agents may read what is code. */
function ownPlace({ directory, names, file, isCode = false }: PrivatePlace): Own {
  const folders = spellings(directory)
  const pattern = names === undefined ? undefined : new RegExp(names.source, 'i')
  const files = file === undefined ? [] : spellings(file)
  const isInside = (folder: string, folded: string): boolean => {
    if (!isWithin(folder, folded)) return false
    const [first = ''] = folded.slice(folder.length).split('/').filter(Boolean)
    return pattern === undefined || pattern.test(first)
  }
  const named = file ?? (names === undefined ? directory : undefined)
  return {
    ...{ file: named, isReadable: isCode, inodes: inodesOf(named) },
    covers: folded => files.includes(folded) || folders.some(folder => isInside(folder, folded)),
  }
}

/** A file that the gateway runs: agents may read it. */
function ownFile(file: string): Own {
  const files = spellings(file)
  return { file, isReadable: true, inodes: inodesOf(file), covers: folded => files.includes(folded) }
}

/** A path as it is named, and as it really is. */
function spellings(file: string): string[] {
  return [...new Set([fold(file), fold(realOrSame(file))])]
}

function inodesOf(file: string | undefined): Set<string> {
  const inodes = new Set<string>()
  noteFile(file, inodes)
  return inodes
}

function noteFile(file: string | undefined, inodes: Set<string>): void {
  const inode = file === undefined ? undefined : inodeOf(file)
  if (inode !== undefined) inodes.add(inode)
}

/** Some file systems take names that differ in case, or in how accents are written, for the same one. */
function fold(file: string): string {
  return file.normalize('NFC').toLowerCase()
}

/** One task, as far as the gateway does things for its agent. */
export interface ClientSideOptions {
  readonly settings: Pick<AgentSettings, 'id' | 'client' | 'inheritEnv' | 'sandbox' | 'ceilings'>
  /** The real path of the directory of the task: nothing outside of it is written or listed. */
  readonly directory: string
  /** Real paths of files that go with the task: they may be read, wherever they are. */
  readonly files: readonly string[]
  /** HOME of programs in terminals; without it the directory of the task. */
  readonly home?: string
  readonly programs: Programs
  readonly clock: Clock
  /** The gateway's own files, which are for no agent. */
  readonly own?: Protected | undefined
}

/** Every file that a value of the configuration names: programs, scripts, keys, whatever key it stands at. */
function filesNamedIn(value: unknown, directory: string): string[] {
  const found = new Set<string>()
  collect(value, [directory], found)
  return [...found]
}

function collect(value: unknown, folders: readonly string[], found: Set<string>): void {
  if (typeof value === 'string') return note(value, folders, found)
  if (Array.isArray(value)) return value.forEach(item => collect(item, folders, found))
  if (!isObject(value)) return
  // A program that runs in another directory names its files from there.
  const { cwd } = value
  const [base = '.'] = folders
  const here = typeof cwd === 'string' && isPath(cwd) ? [base, path.resolve(base, cwd)] : folders
  for (const inner of Object.values(value)) collect(inner, here, found)
}

/** `--config=x` names a file, too. */
function note(text: string, folders: readonly string[], found: Set<string>): void {
  for (const name of [text, text.slice(text.indexOf('=') + 1)])
    for (const folder of folders) {
      const file = isPath(name) && found.size < MAX_FILES ? path.resolve(folder, name) : undefined
      if (file !== undefined && statOf(file)?.isFile() === true) found.add(file)
    }
}

function isPath(name: string): boolean {
  return name !== '' && name.length <= MAX_PATH && !name.includes('\0')
}

/** Follows the links of a path as far as it exists; gives back the path itself where nothing can be read. */
function realOrSame(file: string): string {
  const absolute = path.resolve(file)
  try {
    return realpathSync(absolute)
  } catch {
    const above = path.dirname(absolute)
    return above === absolute ? absolute : path.join(realOrSame(above), path.basename(absolute))
  }
}

/** Mark of a file that stays when it is moved, and is never another's; undefined where nothing is. */
function inodeOf(file: string): string | undefined {
  const stats = statOf(file)
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}:${stats.birthtimeMs}`
}

function statOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
