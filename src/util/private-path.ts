import { join } from 'node:path'

/** Place that is the gateway's own and nobody else's: a directory, or those entries of it whose names fit. */
export interface PrivatePath {
  /** Absolute. */
  readonly directory: string
  readonly names?: RegExp
  /** The one file that it is all about, where there is one. */
  readonly file?: string
  /** True where it holds code that the gateway runs, which is no secret: others may read it where they must not write it. */
  readonly isCode?: boolean
}

/** A file, with what editors, rotation and databases put beside it under a longer name; `{pid}` stands for any number. */
export function createPrivateFile(directory: string, name: string): PrivatePath {
  const pattern = name.split('{pid}').map(escapeRegExp).join('\\d+')
  const names = new RegExp(`^\\.?${pattern}([.~#-].*)?$`)
  return { directory, names, ...(name.includes('{pid}') ? {} : { file: join(directory, name) }) }
}

/** A text as a pattern that fits only itself. */
export function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** The private places of all configurations that one gateway has had: what was private stays so. */
export class PrivatePathSet {
  readonly #places = new Map<string, PrivatePath>()

  add(places: readonly PrivatePath[]): void {
    for (const place of places) this.#places.set(`${place.directory}\0${place.names?.source ?? ''}`, place)
  }

  get all(): readonly PrivatePath[] {
    return [...this.#places.values()]
  }
}
