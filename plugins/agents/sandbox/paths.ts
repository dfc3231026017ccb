import type { Stats } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { gatewayError, type GatewayError } from '../../../src/plugin.ts'
import { type Lookup, lookUp } from './lookup.ts'
import { cleanLine } from './text.ts'

const MAX_BYTES = 4096

/** What is, or could be, at a path below the roots. */
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

  /** Whether a real path is one of the roots, or below one. */
  contains(real: string): boolean {
    return this.#roots.some(root => isWithin(root.real, real))
  }

  /** Whether a real path is itself a root. */
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
   * Where a path leads. Without `base` it must be absolute, as on the wire.
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

/** Whether a real path is another one, or below it, part by part: `/srv/work2` is not within `/srv/work`. */
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

/** What is there, or an error that says it is missing. */
export function existing(
  what: string,
  written: unknown,
  place: Place,
): Extract<Place, { readonly is: 'found' }> {
  if (place.is === 'found') return place
  throw wrongPath(what, written, 'does not exist', true)
}

export function wrongPath(what: string, written: unknown, why: string, missing = false): GatewayError {
  return gatewayError('GW_AGENT_PATH', { what, path: cleanLine(String(written)), why, missing })
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
