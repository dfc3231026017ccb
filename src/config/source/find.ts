import { basename, dirname, extname, join } from 'node:path'
import { existsSync } from 'node:fs'
import { gatewayError } from '../../errors/errors.ts'
import { refuseUntrusted } from './trust.ts'
import type { Finding } from '../../util/finding.ts'

/** Names a configuration may have, first come first served. */
const CONFIG_NAMES = ['gateway.yaml', 'gateway.yml', 'gateway.json'] as const

interface Explorer {
  search(from: string): Promise<{ readonly filepath: string } | null>
}
type ExplorerClass = new (options: Readonly<Record<string, unknown>>) => Explorer

/**
 * Looks for a configuration from a directory upwards, as far as the home directory or the root.
 * @throws GatewayError GW_CONFIG_UNTRUSTED for one that another user could have written
 */
export async function findConfig(directory: string, home: string | undefined): Promise<string> {
  const explorer = await makeExplorer(home)
  const found = await explorer.search(directory)
  if (found === null) throw gatewayError('GW_CONFIG_NOT_FOUND', { directory })
  refuseUntrusted(found.filepath)
  return found.filepath
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

/** `gateway.<env>.yaml` beside `gateway.yaml`, or what is wrong with that wish. */
export function overlayFile(file: string, environment: string): { readonly file: string } | Finding {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(environment)) {
    const message = `"${environment}" is not the name of an environment`
    return { pointer: '', message, hint: 'use letters, digits, underscores and hyphens' }
  }
  const extension = extname(file)
  const stem = `${basename(file, extension)}.${environment}`
  const names = [...new Set([extension, '.yaml', '.yml', '.json'])].map(ending => `${stem}${ending}`)
  const found = names.find(name => existsSync(join(dirname(file), name)))
  if (found !== undefined) return { file: join(dirname(file), found) }
  const message = `environment "${environment}" has no file`
  return { pointer: '', message, hint: `looked for ${names.join(', ')} in ${dirname(file)}` }
}
