import { basename, dirname, extname, isAbsolute, join, resolve } from 'node:path'
import { isPlain } from '../util/plain-data.ts'
import { parsePointer } from '../util/finding.ts'
import type { PrivatePath } from '../util/private-path.ts'
import { escapeRegExp, createPrivateFile } from '../util/private-path.ts'
import type { LoadedConfig } from './finish-config.ts'
import type { PrivateKind } from './keys.gen.ts'
import { PRIVATE_PATHS } from './keys.gen.ts'

/** Files and directories that only the gateway may access: its configuration and those it names. */
export function listPrivatePlaces({
  config,
  file,
  files,
  directory,
}: Pick<LoadedConfig, 'config' | 'file' | 'files' | 'directory'>): PrivatePath[] {
  const named = Object.entries(PRIVATE_PATHS).flatMap(([pattern, kind]) =>
    collectValues(config, parsePointer(pattern))
      .filter(value => isOwnFile(value, kind))
      .map(value => createPrivatePlace(resolve(directory, value), kind)),
  )
  const read = files.map(each => createPrivateFile(dirname(each), basename(each)))
  // Pins are not secret, but only the owner may change them.
  const lock = { ...createPrivateFile(directory, 'gateway.lock'), isCode: true }
  return [...read, lock, ...listEnvironmentFiles(file ?? join(directory, 'gateway.yaml'), directory), ...named]
}

/** Files of other environments: inactive overlays and .env files. */
function listEnvironmentFiles(file: string, directory: string): PrivatePath[] {
  const extension = extname(file)
  const overlay = `^\\.?${escapeRegExp(basename(file, extension))}\\.[\\w-]+(${escapeRegExp(extension)}|\\.ya?ml|\\.json)`
  return [
    { directory: dirname(file), names: new RegExp(`${overlay}([.~#-].*)?$`) },
    ...[...new Set([dirname(file), directory])].map(folder => ({
      directory: folder,
      names: /^\.env(\..*)?$/,
    })),
  ]
}

function createPrivatePlace(path: string, kind: PrivateKind): PrivatePath {
  if (kind === 'directory') return { directory: path }
  const privateFile = createPrivateFile(dirname(path), basename(path))
  return kind === 'module' ? { ...privateFile, isCode: true } : privateFile
}

/** Collects texts at a key pattern; `*` matches any key. */
function collectValues(at: unknown, keys: readonly string[]): string[] {
  const [key, ...rest] = keys
  if (key === undefined) return typeof at === 'string' ? [at] : []
  if (!isPlain(at)) return []
  return (key === '*' ? Object.values(at) : [at[key]]).flatMap(inner => collectValues(inner, rest))
}

/** Packages are resolved by name and are not private. */
function isOwnFile(value: string, kind: PrivateKind): boolean {
  return kind !== 'module' || value.startsWith('.') || isAbsolute(value)
}
