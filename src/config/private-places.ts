import { basename, dirname, extname, isAbsolute, join, resolve } from 'node:path'
import { isPlain } from '../util/plain-data.ts'
import { parsePointer } from '../util/finding.ts'
import type { PrivatePlace } from '../util/private-place.ts'
import { escaped, privateFile } from '../util/private-place.ts'
import type { LoadedConfig } from './finish-config.ts'
import type { PrivateKind } from './keys.gen.ts'
import { PRIVATE_PATHS } from './keys.gen.ts'

/** The files and directories of a configuration that only the gateway may see: where it came from, and what it names as its own. */
export function listPrivatePlaces({
  config,
  file,
  files,
  directory,
}: Pick<LoadedConfig, 'config' | 'file' | 'files' | 'directory'>): PrivatePlace[] {
  const named = Object.entries(PRIVATE_PATHS).flatMap(([pattern, kind]) =>
    collectValues(config, parsePointer(pattern))
      .filter(value => isOwnFile(value, kind))
      .map(value => createPrivatePlace(resolve(directory, value), kind)),
  )
  const read = files.map(each => privateFile(dirname(each), basename(each)))
  // What its owner accepted is no secret, but nobody else may accept anything.
  const lock = { ...privateFile(directory, 'gateway.lock'), isCode: true }
  return [
    ...read,
    lock,
    ...listEnvironmentFiles(file ?? join(directory, 'gateway.yaml'), directory),
    ...named,
  ]
}

/** Files that another environment would read: overlays that are not in force now, and variables in a file. */
function listEnvironmentFiles(file: string, directory: string): PrivatePlace[] {
  const extension = extname(file)
  const overlay = `^\\.?${escaped(basename(file, extension))}\\.[\\w-]+(${escaped(extension)}|\\.ya?ml|\\.json)`
  return [
    { directory: dirname(file), names: new RegExp(`${overlay}([.~#-].*)?$`) },
    ...[...new Set([dirname(file), directory])].map(folder => ({
      directory: folder,
      names: /^\.env(\..*)?$/,
    })),
  ]
}

function createPrivatePlace(path: string, kind: PrivateKind): PrivatePlace {
  if (kind === 'directory') return { directory: path }
  const place = privateFile(dirname(path), basename(path))
  return kind === 'module' ? { ...place, isCode: true } : place
}

/** Texts at a pattern of keys, `*` standing for any one. */
function collectValues(at: unknown, keys: readonly string[]): string[] {
  const [key, ...rest] = keys
  if (key === undefined) return typeof at === 'string' ? [at] : []
  if (!isPlain(at)) return []
  return (key === '*' ? Object.values(at) : [at[key]]).flatMap(inner => collectValues(inner, rest))
}

/** A package is found by its name, and is no file of ours. */
function isOwnFile(value: string, kind: PrivateKind): boolean {
  return kind !== 'module' || value.startsWith('.') || isAbsolute(value)
}
