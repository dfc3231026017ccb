import { allowsUris, canonicalOr, forbidsUris, globs } from '../../src/plugin.ts'

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
  /** Whether it hides anything. */
  readonly isRule: boolean
  readonly permits: (name: string) => boolean
  readonly hasRenames: boolean
  /** The other name of one; undefined where it keeps its own. */
  readonly renamed: (name: string) => string | undefined
  readonly describe: ReadonlyMap<string, string>
}

/** Compiles the globs once, of names or URIs. `deny` wins over `allow`; no `allow` means everything, an empty one nothing. */
export function prepareFilter(options: FilterOptions = {}, isOfUris = false): Filter {
  const denied = (isOfUris ? forbidsUris : globs)(options.deny ?? [])
  const allowed = options.allow === undefined ? () => true : (isOfUris ? allowsUris : globs)(options.allow)
  return {
    isEmpty: [options.allow, options.deny, options.rename, options.describe].every(
      part => part === undefined,
    ),
    isRule: options.allow !== undefined || options.deny !== undefined,
    permits: name => !denied(name) && allowed(name),
    hasRenames: options.rename !== undefined,
    renamed: renamesOf(options, isOfUris),
    describe: new Map(Object.entries(options.describe ?? {})),
  }
}

/** A URI is one and the same, however the configuration or a server spells it. */
function renamesOf({ rename = {} }: FilterOptions, isOfUris: boolean): Filter['renamed'] {
  const spelled = isOfUris ? canonicalOr : (name: string): string => name
  const renames = new Map(Object.entries(rename).map(([from, to]) => [spelled(from), to]))
  return name => (renames.size === 0 ? undefined : renames.get(spelled(name)))
}
