import { lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs'
import path from 'node:path'
import type { PrivatePlace } from '../../util/private-place.ts'

/** One thing that a sandbox shows. */
export interface Shown {
  readonly path: string
  /** A private path is shown for the gateway itself, refused to a configuration, and left out of what was found. */
  readonly from: 'gateway' | 'configuration' | 'system'
  readonly mayWrite?: boolean
}

/** More mounts make a start slow, and a list of arguments too long. */
const MAX_MOUNTS = 2000

/**
 * The arguments that show files in a sandbox, and nothing private among them. A directory with something private in it is
 * built anew from its other entries: a mask over a file is gone when somebody else replaces that file.
 */
export function viewArguments(shown: readonly Shown[], places: readonly PrivatePlace[]): string[] {
  const view = new View(places.map(resolved))
  for (const each of inOrder(shown)) view.show(each)
  return view.arguments
}

/** A path with its links resolved, as far as it exists. */
export function realOf(name: string): string {
  try {
    return realpathSync(name)
  } catch {
    const parent = path.dirname(name)
    return parent === name ? name : path.join(realOf(parent), path.basename(name))
  }
}

/** True when a path is another, or lies in it. */
export function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer === '/' ? '/' : `${outer}/`)
}

/** Directories before what is in them, and what may be written last of equals. */
function inOrder(shown: readonly Shown[]): Shown[] {
  return shown
    .map(each => ({ each, real: realOf(each.path) }))
    .sort(
      (a, b) =>
        compare(a.real, b.real) || Number(b.each.mayWrite ?? false) - Number(a.each.mayWrite ?? false),
    )
    .map(({ each }) => each)
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map(each => each.replaceAll('/', '\0'))
  return left === right ? 0 : (left ?? '') < (right ?? '') ? -1 : 1
}

function resolved({ directory, ...rest }: PrivatePlace): PrivatePlace {
  return { directory: realOf(directory), ...rest }
}

class View {
  readonly #places: readonly PrivatePlace[]
  readonly #mounts: string[][] = []
  /** Directories that were built anew: nothing can be added to them. */
  readonly #built: string[] = []
  readonly #names = new Set<string>()
  readonly #accepted: { readonly real: string; readonly mayWrite: boolean }[] = []

  constructor(places: readonly PrivatePlace[]) {
    this.#places = places
  }

  get arguments(): string[] {
    const sealed = [...new Set(this.#built)].flatMap(directory => ['--remount-ro', directory])
    return [...this.#mounts.flat(), ...sealed]
  }

  show({ path: name, from, mayWrite = false }: Shown): void {
    const real = realOf(name)
    const isPrivate = this.#isPrivate(real)
    if (isPrivate && from === 'system') return
    if (isPrivate && from === 'configuration')
      throw new Error(`a sandbox does not show ${name}: it is hidden, or the gateway's own`)
    if (isPrivate || !this.#isShown(real, mayWrite)) {
      this.#accepted.push({ real, mayWrite })
      this.#add(
        real,
        mayWrite,
        this.#places.filter(({ directory }) => isWithin(directory, real)),
      )
    }
    this.#alsoAs(name, real)
  }

  /** The name it is known by, unless that is reached through what is shown already. */
  #alsoAs(name: string, real: string): void {
    if (real === name || this.#names.has(name) || this.#isShown(realOf(path.dirname(name)), false)) return
    this.#names.add(name)
    this.#mount('--symlink', real, name)
  }

  #isShown(real: string, mayWrite: boolean): boolean {
    return this.#accepted.some(each => (each.mayWrite || !mayWrite) && isWithin(real, each.real))
  }

  #isPrivate(real: string): boolean {
    for (let at = real; ; at = path.dirname(at)) {
      if (this.#places.some(place => isPlace(at, place))) return true
      if (at === path.dirname(at)) return false
    }
  }

  #add(real: string, mayWrite: boolean, inside: readonly PrivatePlace[]): void {
    const isDirectory = lstatSync(real).isDirectory()
    if (inside.length === 0 || !isDirectory) return this.#mount(mayWrite ? '--bind' : '--ro-bind', real, real)
    this.#mount('--tmpfs', real)
    this.#built.push(real)
    for (const entry of readdirSync(real, { withFileTypes: true })) {
      const child = path.join(real, entry.name)
      const isHidden = inside.some(place => isPlace(child, place))
      if (isHidden && entry.isDirectory()) this.#mount('--dir', child)
      else if (isHidden) continue
      else if (entry.isSymbolicLink()) this.#mount('--symlink', readlinkSync(child), child)
      else
        this.#add(
          child,
          mayWrite,
          inside.filter(({ directory }) => isWithin(directory, child)),
        )
    }
  }

  #mount(...mount: string[]): void {
    if (this.#mounts.push(mount) <= MAX_MOUNTS) return
    throw new Error(
      `the sandbox would have more than ${MAX_MOUNTS} mounts, as private files lie beside so many others: give the server a "cwd" of its own`,
    )
  }
}

function isPlace(at: string, { directory, names }: PrivatePlace): boolean {
  return names === undefined
    ? at === directory
    : path.dirname(at) === directory && names.test(path.basename(at))
}
