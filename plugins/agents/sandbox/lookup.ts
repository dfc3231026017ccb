import type { Stats } from 'node:fs'
import { lstat, readlink } from 'node:fs/promises'
import path from 'node:path'

/** As many as Linux follows. */
const MAX_LINKS = 40
const MAX_STEPS = 1024

/** What is where a path leads. All paths in it are real: absolute, without links, `.` and `..`. */
export type Lookup =
  | { readonly is: 'found'; readonly real: string; readonly stats: Stats }
  /** `names` do not exist below `existing`, and may be made there; `real` is where it would be. */
  | {
      readonly is: 'missing'
      readonly real: string
      readonly existing: string
      readonly names: readonly string[]
    }
  /** It leads nowhere; `real` is how far it was followed. */
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
  // Where nothing is, nothing can be left again, and the kernel makes no directory for a slash.
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
