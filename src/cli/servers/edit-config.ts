import { randomUUID } from 'node:crypto'
import { unlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fromYaml, removeYamlEntry, setYamlEntry } from '../../config/source/plain-yaml.ts'
import { refuseUntrusted } from '../../config/source/file-trust.ts'
import type { LoadedConfig } from '../../config/index.ts'
import { GatewayError, gatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { readMap } from '../../util/plain-data.ts'
import { withFileLock } from '../../util/storage/file-lock.ts'
import { suggestHint } from '../../util/suggest.ts'
import type { SettingsFile } from './settings-editor.ts'
import { readSettingsFile, writeSettingsFile } from './settings-editor.ts'
import { loadSource } from '../load-source.ts'
import type { Terminal } from '../output/terminal.ts'

/** New upstream entry, or undefined to remove it. */
export interface UpstreamChange {
  readonly name: string
  readonly upstream: JsonObject | undefined
}

/** Settings before and after a change. */
export interface EditedConfig {
  readonly before: SettingsFile
  readonly after: string
}

const NEW_CONFIG = 'version: 1\n\nlisteners:\n  stdio: { type: stdio }\n\nupstreams: {}\n'

/** Applies a change to a configuration text and preserves comments. @throws GatewayError GW_USAGE */
export async function applyChange(file: string, { name, upstream }: UpstreamChange): Promise<EditedConfig> {
  const before = await readSettingsFile(file).catch(rejectChange(file))
  const text = before.text ?? NEW_CONFIG
  try {
    const existingUpstreams = readMap(fromYaml(text), 'upstreams')
    if (upstream === undefined) {
      if (!Object.hasOwn(existingUpstreams, name))
        throw new Error(`no upstream named "${name}"${suggestHint(name, Object.keys(existingUpstreams))}`)
      return { before, after: removeYamlEntry(text, ['upstreams'], name, false) }
    }
    if (Object.hasOwn(existingUpstreams, name))
      throw new Error(`an upstream named "${name}" already exists; choose another with --name`)
    return { before, after: setYamlEntry(text, ['upstreams'], name, upstream, false) }
  } catch (error) {
    return rejectChange(file)(error)
  }
}

/** Creates a handler that names the unchanged file in an error, unless the gateway itself threw it. */
export function rejectChange(file: string): (error: unknown) => never {
  return error => {
    if (error instanceof GatewayError) throw error
    throw gatewayError('GW_USAGE', { what: `${file} was not changed: ${getErrorMessage(error)}` })
  }
}

/** Loads a draft from the same directory, since paths are relative to it. @throws GatewayError */
export async function withDraftConfig<T>(
  { path }: SettingsFile,
  text: string,
  terminal: Terminal,
  use: (source: LoadedConfig) => Promise<T>,
): Promise<T> {
  refuseUntrusted(path)
  const draft = join(dirname(path), `.${basename(path, '.yaml')}-${randomUUID()}.try.yaml`)
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' }).catch(rejectChange(path))
    return await use(await loadSource({ config: draft }, terminal))
  } finally {
    await unlink(draft).catch(() => undefined)
  }
}

/** Applies a change to the current configuration under a lock, and saves the previous file as `.bak`. */
export async function writeChange(
  file: string,
  change: UpstreamChange,
  check: (edited: EditedConfig) => Promise<void>,
): Promise<EditedConfig> {
  return withFileLock(`${file}.lock`, async () => {
    const now = await applyChange(file, change)
    await check(now)
    if (now.before.text !== undefined) {
      const backup = { ...now.before, path: `${now.before.path}.bak` }
      await writeSettingsFile(backup, now.before.text)
    }
    await writeSettingsFile(now.before, now.after)
    return now
  }).catch(rejectChange(file))
}
