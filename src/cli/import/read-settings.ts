import { readFile, stat } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { gatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { parseSettings } from '../clients/settings-editor.ts'
import { detectFormat, mergeProjectServers } from './formats.ts'
import { convertEntry } from './convert-entry.ts'

const SETTINGS_FORMATS: Readonly<Record<string, 'toml' | 'yaml'>> = {
  '.toml': 'toml',
  '.yaml': 'yaml',
  '.yml': 'yaml',
}
const MAX_BYTES = 4 * 1024 * 1024

/** Reads client settings. The file extension selects JSON (with comments and trailing commas), TOML or YAML. */
export async function readSettings(file: string): Promise<JsonObject> {
  const text = await readSettingsText(file)
  let value: unknown
  try {
    value = await parseSettings(text, SETTINGS_FORMATS[extname(file).toLowerCase()] ?? 'json')
  } catch (error) {
    throw createImportError(file, getErrorMessage(error).split('\n')[0] ?? '')
  }
  if (!isObject(value)) throw createImportError(file, 'not a map')
  return value
}

async function readSettingsText(file: string): Promise<string> {
  try {
    // Reading a pipe or device would block.
    const stats = await stat(file)
    if (!stats.isFile()) throw new Error('not a regular file')
    if (stats.size > MAX_BYTES) throw new Error(`larger than ${MAX_BYTES} bytes`)
    return decodeText(await readFile(file))
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw createImportError(file, isMissing ? 'no such file' : getErrorMessage(error))
  }
}

/** Decodes UTF-8, or the UTF-16 of Windows programs; zero bytes reveal UTF-16 without a byte order mark. */
function decodeText(bytes: Buffer): string {
  const [first, second] = bytes
  const isLittle = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0)
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0)
  return new TextDecoder(isLittle ? 'utf-16le' : isBig ? 'utf-16be' : 'utf-8').decode(bytes)
}

function createImportError(file: string, reason: string): Error {
  return gatewayError('GW_IMPORT', { file, why: reason })
}

export interface ServerEntry {
  /** Name in the client settings. */
  readonly originalName: string
  readonly upstream: JsonObject
}

export interface EntryNotes {
  note(name: string, text: string): void
  leave(name: string, key: string): void
}

/**
 * Converts all servers except gateways and unsupported entries.
 * @throws GatewayError GW_IMPORT if the settings contain no servers
 */
export function convertServers(
  settings: JsonObject,
  { file, directory }: { readonly file: string; readonly directory: string },
  { note, leave }: EntryNotes,
): { readonly format: string; readonly entries: readonly ServerEntry[] } {
  const { format, servers, inputs } = detectFormat(mergeProjectServers(settings, directory, note), file)
  const entries = [...servers].flatMap(([originalName, server]): ServerEntry[] => {
    if (isObject(server) && isOwnGateway(server)) return []
    const converted = isObject(server)
      ? convertEntry(
          server,
          { ...format, inputs, directory },
          { note: text => note(originalName, text), leave: key => leave(originalName, key) },
        )
      : { why: 'not a map' }
    if ('upstream' in converted) return [{ originalName, upstream: converted.upstream }]
    note(originalName, `skipped: ${converted.why}`)
    return []
  })
  return { format: format.title, entries }
}

/** True for an entry of this gateway. */
function isOwnGateway({ command, args }: JsonObject): boolean {
  const commandLine = [command, args].flat().filter(part => typeof part === 'string')
  const isGateway = commandLine.some(part => /^(gateway|run\.js)(\.cmd)?$/.test(basename(part)))
  return isGateway && commandLine.some(part => part === 'attach' || part === 'serve')
}
