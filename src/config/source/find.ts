import { lstatSync, statSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { dirname } from 'node:path'
import { gatewayError } from '../../errors/errors.ts'

/** Names a configuration may have, first come first served. */
export const CONFIG_NAMES = ['gateway.yaml', 'gateway.yml', 'gateway.json'] as const

interface Explorer {
  search(from: string): Promise<{ readonly filepath: string } | null>
}
type ExplorerClass = new (options: Readonly<Record<string, unknown>>) => Explorer

const ANYBODY_WRITES = 0o002
const STICKY = 0o1000

/**
 * Looks for a configuration from a directory upwards, as far as the home directory or the root.
 * @throws GatewayError GW_CONFIG_UNTRUSTED for one above that somebody else could have put there
 */
export async function findConfig(directory: string, home: string | undefined): Promise<string> {
  const explorer = await makeExplorer(home)
  const found = await explorer.search(directory)
  if (found === null) throw gatewayError('GW_CONFIG_NOT_FOUND', { directory })
  const why = dirname(found.filepath) === directory ? undefined : whyUntrusted(found.filepath)
  if (why !== undefined) throw gatewayError('GW_CONFIG_UNTRUSTED', { file: found.filepath, why })
  return found.filepath
}

/** Reason why others may write the file, and so run commands as whoever starts the gateway; root may anyway. */
function whyUntrusted(file: string): string | undefined {
  const own = process.geteuid?.()
  if (own === undefined) return undefined
  const isOthers = ({ uid }: Stats): boolean => uid !== own && uid !== 0
  const directory = statSync(dirname(file))
  const links = [lstatSync(file), statSync(file, { throwIfNoEntry: false }) ?? lstatSync(file)]
  if (links.some(isOthers)) return 'it belongs to another user'
  if (isOthers(directory)) return 'its directory belongs to another user'
  if (links.some(found => !found.isSymbolicLink() && (found.mode & ANYBODY_WRITES) !== 0))
    return 'anybody can write to it'
  const isOpen = (directory.mode & ANYBODY_WRITES) !== 0 && (directory.mode & STICKY) === 0
  return isOpen ? 'anybody can write to its directory' : undefined
}

// cosmiconfig() itself first looks for its own settings in the working directory and would run a .config/config.js there;
// the class behind it does not, and with loaders that look at nothing but the name it neither parses nor runs anything.
async function makeExplorer(home: string | undefined): Promise<Explorer> {
  const module = (await import('cosmiconfig/dist/Explorer.js')) as unknown as { Explorer: ExplorerClass }
  return new module.Explorer({
    moduleName: 'gateway',
    searchPlaces: CONFIG_NAMES,
    searchStrategy: 'global',
    stopDir: home,
    ignoreEmptySearchPlaces: false,
    cache: false,
    metaConfigFilePath: null,
    mergeImportArrays: false,
    mergeSearchPlaces: false,
    applyPackagePropertyPathToConfiguration: false,
    loaders: { '.yaml': keepOurs, '.yml': keepOurs, '.json': keepOurs, default: () => null },
    transform: (result: unknown) => result,
  })
}

/** The user-wide directory that cosmiconfig tries last has files of other names; they are none of ours. */
function keepOurs(file: string): object | null {
  return CONFIG_NAMES.some(name => file.endsWith(name)) ? {} : null
}
