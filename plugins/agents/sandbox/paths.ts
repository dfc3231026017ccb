import type { Stats } from 'node:fs'
import { lstat, readlink, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { type GatewayError } from '../../../src/plugin.ts'
import { agentError } from '../errors.ts'
import { cleanLine } from './text.ts'

/** As many as Linux follows. */
const MAX_LINKS = 40

const MAX_STEPS = 1024

const MAX_BYTES = 4096

/** Finds what is, or could be, at a path below the roots. */
export type Place = Exclude<Lookup, { readonly is: 'refused' }>

interface Root {
  /** As it was configured, made absolute. */
  readonly named: string
  readonly real: string
}

/**
 * The directories (or single files) that paths must be in. Their real paths are found once; every path is followed
 * anew from `/` and compared with them part by part, so what is swapped later leads out of them, and is refused.
 */
export class Roots {
  readonly #roots: readonly Root[]

  private constructor(roots: readonly Root[]) {
    this.#roots = roots
  }

  /** @throws GatewayError GW_AGENT_PATH for a root that does not exist */
  static async of(names: readonly string[], directory: string): Promise<Roots> {
    return new Roots(await Promise.all(names.map(name => rootOf(path.resolve(directory, name)))))
  }

  /** The real path of the first one: where a task works that names no directory. */
  get first(): string {
    return this.#roots[0]?.real ?? '/'
  }

  /** True if a real path is one of the roots, or below one. */
  contains(real: string): boolean {
    return this.#roots.some(root => isWithin(root.real, real))
  }

  /** True if a real path is itself a root. */
  isRoot(real: string): boolean {
    return this.#roots.some(root => root.real === real)
  }

  /**
   * The real path of the directory of a task. What is relative is so to the first root.
   * @throws GatewayError GW_AGENT_PATH
   */
  async directory(written: unknown): Promise<string> {
    const found = existing('cwd', written, await this.place('cwd', written, this.first))
    if (!found.stats.isDirectory()) throw wrongPath('cwd', written, 'is no directory')
    return found.real
  }

  /**
   * The real path of a file that goes with a task. What is relative is so to the directory of the task.
   * @throws GatewayError GW_AGENT_PATH
   */
  async file(written: unknown, cwd: string): Promise<string> {
    const found = existing('file', written, await this.place('file', written, cwd))
    const why = whyNotRead(found.stats)
    if (why !== undefined) throw wrongPath('file', written, why)
    return found.real
  }

  /**
   * Follows a path to its end. Without `base` it must be absolute, as on the wire.
   * @throws GatewayError GW_AGENT_PATH for all that is not below the roots, in the same words whether it exists or not
   */
  async place(what: string, written: unknown, base?: string): Promise<Place> {
    const file = textOf(what, written)
    if (base === undefined && !file.startsWith('/')) throw wrongPath(what, file, 'is not absolute')
    // Joined by hand: what path.join takes for `a/..` may be a link.
    const lookup = await lookUp(file.startsWith('/') ? file : `${base ?? ''}/${file}`, at =>
      this.#isKnown(at),
    )
    if (!this.contains(lookup.real)) throw wrongPath(what, file, 'is not below the roots')
    if (lookup.is === 'refused') throw wrongPath(what, file, lookup.why)
    return lookup
  }

  /** Below a root, or on the way to one. */
  #isKnown(directory: string): boolean {
    return this.#roots.some(
      ({ named, real }) =>
        isWithin(real, directory) || isWithin(directory, real) || isWithin(directory, named),
    )
  }
}

/** True if a real path is another one, or below it, part by part: `/srv/work2` is not within `/srv/work`. */
export function isWithin(directory: string, file: string): boolean {
  const way = path.posix.relative(directory, file)
  return way !== '..' && !way.startsWith('../')
}

/** Why a file is not read; undefined when it may be. */
export function whyNotRead(stats: Stats): string | undefined {
  if (stats.isDirectory()) return 'is a directory'
  if (!stats.isFile()) return 'is no ordinary file'
  // One of its names may be outside, and nobody can tell which one is the first.
  return stats.nlink > 1 ? 'has other names (hard links), so it may be a file from outside' : undefined
}

/** The file at the path, or an error that says it is missing. */
export function existing(
  what: string,
  written: unknown,
  place: Place,
): Extract<Place, { readonly is: 'found' }> {
  if (place.is === 'found') return place
  throw wrongPath(what, written, 'does not exist', true)
}

export function wrongPath(what: string, written: unknown, why: string, missing = false): GatewayError {
  return agentError('GW_AGENT_PATH', { what, path: cleanLine(String(written)), why, missing })
}

function textOf(what: string, written: unknown): string {
  if (typeof written !== 'string') throw wrongPath(what, written, 'is not text')
  if (written === '') throw wrongPath(what, written, 'is empty')
  if (written.includes('\0')) throw wrongPath(what, written, 'has a NUL character in it')
  if (!written.isWellFormed()) throw wrongPath(what, written, 'has half a character in it')
  if (Buffer.byteLength(written) > MAX_BYTES) throw wrongPath(what, written, 'is too long')
  return written
}

async function rootOf(named: string): Promise<Root> {
  try {
    const real = await realpath(named)
    await stat(real)
    return { named, real }
  } catch {
    throw wrongPath('root', named, 'does not exist', true)
  }
}

/** End of a path. All paths in it are real: absolute, without links, `.` and `..`. */
type Lookup =
  | { readonly is: 'found'; readonly real: string; readonly stats: Stats }
  /** `names` do not exist below `existing`, and may be made there; `real` is where it would be. */
  | {
      readonly is: 'missing'
      readonly real: string
      readonly existing: string
      readonly names: readonly string[]
    }
  /** A path that leads nowhere; `real` is how far it was followed. */
  | { readonly is: 'refused'; readonly real: string; readonly why: string }

/**
 * Follows an absolute path as the kernel does: links first, then `..`. From a directory that is not `isKnown` no `..`
 * is taken, and `/proc` is not entered, so that an answer does not say what exists there.
 */
export async function lookUp(file: string, isKnown: (directory: string) => boolean): Promise<Lookup> {
  const walk: Walk = { at: '/', rest: namesOf(file).reverse(), links: 0, isKnown }
  for (let steps = 0; walk.rest.length > 0; steps++) {
    if (steps > MAX_STEPS) return refused(walk.at, 'has too many parts')
    const end = await step(walk, walk.rest.pop() ?? '.')
    if (end !== undefined) return end
  }
  return reached(walk.at)
}

interface Walk {
  /** A real directory while there is a `rest`. */
  at: string
  /** The next name is the last one. */
  readonly rest: string[]
  links: number
  readonly isKnown: (directory: string) => boolean
}

async function step(walk: Walk, name: string): Promise<Lookup | undefined> {
  if (name === '.') return undefined
  if (name === '..') return stepOut(walk)
  const next = path.posix.join(walk.at, name)
  if (next === '/proc' && !walk.isKnown(next)) return refused(next, 'leads to /proc')
  const seen = await look(next)
  if (seen === 'missing') return missing(walk.at, [name, ...walk.rest.reverse()])
  if (typeof seen === 'string') return refused(next, seen)
  if (seen.isSymbolicLink()) return follow(walk, next)
  if (walk.rest.length > 0 && !seen.isDirectory()) return refused(next, 'goes through what is no directory')
  walk.at = next
  return undefined
}

function stepOut(walk: Walk): Lookup | undefined {
  if (!walk.isKnown(walk.at)) return refused(walk.at, 'leaves the roots')
  walk.at = path.posix.dirname(walk.at)
  return undefined
}

async function follow(walk: Walk, link: string): Promise<Lookup | undefined> {
  const target = ++walk.links > MAX_LINKS ? undefined : await targetOf(link)
  if (target === undefined) return refused(link, 'has too many links')
  if (target.startsWith('/')) walk.at = '/'
  walk.rest.push(...namesOf(target).reverse())
  return undefined
}

function refused(real: string, why: string): Lookup {
  return { is: 'refused', real, why }
}

/** The parts between slashes; a slash at the end asks for a directory, as `.` does. */
function namesOf(file: string): string[] {
  const names = file.split('/').filter(name => name !== '')
  return file.endsWith('/') ? [...names, '.'] : names
}

async function reached(real: string): Promise<Lookup> {
  const stats = await look(real)
  if (typeof stats !== 'string') return { is: 'found', real, stats }
  return refused(real, stats === 'missing' ? 'went away' : stats)
}

function missing(existing: string, names: string[]): Lookup {
  const real = path.posix.join(existing, names[0] ?? '')
  // A missing directory cannot be left again, and the kernel makes no directory for a slash.
  if (names.includes('..') || names.includes('.')) return { is: 'missing', real, existing, names: [] }
  return { is: 'missing', real: path.posix.join(existing, ...names), existing, names }
}

async function look(file: string): Promise<Stats | 'missing' | 'cannot be reached' | 'is too long'> {
  try {
    return await lstat(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return 'missing'
    return code === 'ENAMETOOLONG' ? 'is too long' : 'cannot be reached'
  }
}

async function targetOf(link: string): Promise<string | undefined> {
  return readlink(link).catch(() => undefined)
}
