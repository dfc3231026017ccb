import { closeSync, lstatSync, openSync, readlinkSync, readSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { findProgram } from '../../util/find-program.ts'
import { foldersIn } from '../../util/platform.ts'

/** Program that is run. */
export interface Run {
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
export function runtimePaths(
  { program, args, cwd, env }: Run,
  isTooWide: (path: string) => boolean,
): string[] {
  const found = new Set<string>()
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file) || seen.size >= MAX_FILES) return
    seen.add(file)
    found.add(belongingTo(file, isTooWide))
    for (const next of [linkOf(file), realOf(file), interpreterOf(file, env.PATH, cwd)])
      if (next !== undefined) visit(next)
  }
  const named = args.map(arg => path.resolve(cwd, arg)).filter(isFile)
  for (const file of [program, ...named]) visit(file)
  for (const name of CERTIFICATES) if (env[name]) found.add(path.resolve(cwd, env[name]))
  return [...found]
}

/** The folder of packages or the installation that a file is part of; else the file alone. */
function belongingTo(file: string, isTooWide: (path: string) => boolean): string {
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

function linkOf(file: string): string | undefined {
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return undefined
  return path.resolve(path.dirname(file), readlinkSync(file))
}

function realOf(file: string): string | undefined {
  try {
    return realpathSync(file)
  } catch {
    return undefined
  }
}

/** Reads the interpreter from the first line of a script; `env` means that it is looked for. */
function interpreterOf(file: string, searchPath: string | undefined, cwd: string): string | undefined {
  const [program, ...words] = /^#! *(.+)/.exec(beginningOf(file))?.[1]?.trim().split(/\s+/) ?? []
  if (program === undefined || path.basename(program) !== 'env') return program
  const name = words.find(word => !word.startsWith('-') && !word.includes('='))
  return name === undefined ? undefined : findProgram(name, foldersIn(searchPath), cwd)
}

function beginningOf(file: string): string {
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
