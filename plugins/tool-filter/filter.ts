import { globs } from '../../src/plugin.ts'

/** What a filter may say; resources have no names to change. */
export interface FilterOptions {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  readonly rename?: Readonly<Record<string, string>>
  readonly describe?: Readonly<Record<string, string>>
}

/** A filter, ready to use. */
export interface Filter {
  readonly isEmpty: boolean
  readonly permits: (name: string) => boolean
  readonly rename: ReadonlyMap<string, string>
  readonly describe: ReadonlyMap<string, string>
}

/** Compiles the globs once. `deny` wins over `allow`; no `allow` means everything, an empty one nothing. */
export function prepareFilter(options: FilterOptions = {}): Filter {
  const denied = globs(options.deny ?? [])
  const allowed = options.allow === undefined ? () => true : globs(options.allow)
  return {
    isEmpty: [options.allow, options.deny, options.rename, options.describe].every(
      part => part === undefined,
    ),
    permits: name => !denied(name) && allowed(name),
    rename: new Map(Object.entries(options.rename ?? {})),
    describe: new Map(Object.entries(options.describe ?? {})),
  }
}
