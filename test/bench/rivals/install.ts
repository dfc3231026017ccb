import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { benchFile } from '../setup/children.ts'

const LIMIT_MS = 300_000
const FILES = ['package.json', 'package-lock.json']

/** A package and the file of it that Node runs. */
export interface Program {
  readonly version: string
  readonly file: string
}

/**
 * The other gateways' packages, installed apart in a cache directory when they are first wanted, never as dependencies.
 * Packages that cannot be had are reported and left out.
 */
export async function installPrograms(
  entries: Readonly<Record<string, string>>,
  tell: (text: string) => void,
): Promise<ReadonlyMap<string, Program>> {
  const programs = new Map<string, Program>()
  try {
    const directory = await installed()
    for (const [name, entry] of Object.entries(entries)) {
      const file = join(directory, 'node_modules', name, entry)
      if (!existsSync(file)) tell(`${name}: not to be had, its package has no ${entry}`)
      else programs.set(name, { file, version: versionIn(join(directory, 'node_modules', name)) })
    }
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    tell(`${Object.keys(entries).join(', ')}: not to be had, npm says: ${why}`)
  }
  return programs
}

/** A directory for each state of the lock file, so that an old one is never taken for a new one. */
async function installed(): Promise<string> {
  const packages = benchFile('rivals/packages')
  const lock = readFileSync(join(packages, 'package-lock.json'))
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
  const directory = join(cache, 'tapgate-bench', createHash('sha256').update(lock).digest('hex').slice(0, 16))
  if (existsSync(directory)) return directory
  const unfinished = `${directory}.${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  try {
    for (const name of FILES) copyFileSync(join(packages, name), join(unfinished, name))
    const npm = promisify(execFile)
    await npm('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: unfinished,
      timeout: LIMIT_MS,
    })
    renameSync(unfinished, directory)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  return directory
}

/** The version of the package in a directory. */
export function versionIn(directory: string): string {
  return (JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { version: string }).version
}

/** The version of a package that the project itself has. */
export function ownVersion(name: string): string {
  return versionIn(join(dirname(benchFile('../../package.json')), 'node_modules', name))
}
