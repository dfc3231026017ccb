import { join } from 'node:path'

/** Path reserved for the gateway: a directory, or entries in it with matching names. */
export interface PrivatePath {
  /** Absolute. */
  readonly directory: string
  readonly names?: RegExp
  /** The file, if the path is about a single one. */
  readonly file?: string
  /** True for code that the gateway runs, which is not secret: other users may read it but not write it. */
  readonly isCode?: boolean
}

/**
 * Matches a file and its variants from editors, rotation and databases with a longer name; `{pid}` matches any
 * number.
 */
export function createPrivateFile(directory: string, name: string): PrivatePath {
  const pattern = name.split('{pid}').map(escapeRegExp).join('\\d+')
  const names = new RegExp(`^\\.?${pattern}([.~#-].*)?$`)
  return { directory, names, ...(name.includes('{pid}') ? {} : { file: join(directory, name) }) }
}

/** Escapes text for a regular expression. */
export function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** Private paths of all configurations so far; a path stays private after a reload. */
export class PrivatePathSet {
  readonly #paths = new Map<string, PrivatePath>()

  add(paths: readonly PrivatePath[]): void {
    for (const path of paths) this.#paths.set(`${path.directory}\0${path.names?.source ?? ''}`, path)
  }

  get all(): readonly PrivatePath[] {
    return [...this.#paths.values()]
  }
}
