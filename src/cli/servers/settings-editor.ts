import { constants } from 'node:fs'
import { access, lstat, readFile, realpath, rename, stat } from 'node:fs/promises'
import type { Edit, Node as JsonNode, ParseError } from 'jsonc-parser'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { writeFileAtomic } from '../../util/storage/files.ts'
import type { ClientDefinition } from './clients.ts'

const MAX_SETTINGS_BYTES = 4 * 1024 * 1024
const BOM = '\uFEFF'

export interface SettingsFile {
  /** Path with links resolved. */
  readonly path: string
  /** Text without byte order mark; undefined if the file does not exist. */
  readonly text: string | undefined
  readonly hasBom: boolean
  readonly mode: number
}

/**
 * Reads settings for editing.
 * @throws Error with a reason, if the file is not a writable UTF-8 file of this user
 */
export async function readSettingsFile(file: string): Promise<SettingsFile> {
  const isThere = await lstat(file).then(
    () => true,
    (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
      throw error
    },
  )
  if (!isThere) return { path: file, text: undefined, hasBom: false, mode: 0o600 }
  const path = await realpath(file).catch(() => {
    throw new Error('broken symbolic link')
  })
  const stats = await stat(path)
  if (!stats.isFile()) throw new Error('not a regular file')
  const own = process.geteuid?.()
  if (own !== undefined && stats.uid !== own) throw new Error('owned by another user')
  if (stats.size > MAX_SETTINGS_BYTES) throw new Error(`larger than ${MAX_SETTINGS_BYTES} bytes`)
  if ((stats.mode & 0o200) === 0) throw new Error('read-only')
  await access(path, constants.W_OK).catch(() => {
    throw new Error('not writable')
  })
  const text = decodeSettings(await readFile(path))
  const hasBom = text.startsWith(BOM)
  return { path, text: hasBom ? text.slice(1) : text, hasBom, mode: stats.mode & 0o777 }
}

function decodeSettings(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Error('not valid UTF-8')
  }
}

/** Writes settings atomically and keeps their mode. */
export async function writeSettingsFile({ path, hasBom, mode }: SettingsFile, text: string): Promise<void> {
  await writeFileAtomic(path, Buffer.from(`${hasBom ? BOM : ''}${text}`), rename, mode)
}

/** Edits the server list in a client settings text. */
export interface SettingsEditor {
  /** Returns the entry, or undefined if it does not exist. */
  read(text: string, name: string): Promise<unknown>
  /** Returns all entries by name. */
  all(text: string): Promise<ReadonlyMap<string, unknown>>
  set(text: string, name: string, entry: JsonObject): Promise<string>
  remove(text: string, name: string): Promise<string>
}

/**
 * Returns an editor that preserves comments, order and whitespace. Its functions throw an Error with a line number if
 * the text is invalid.
 */
export function selectEditor(client: ClientDefinition): SettingsEditor {
  if (client.format === 'json') return createJsonEditor(client)
  return client.format === 'toml' ? createTomlEditor(client) : createYamlEditor(client)
}

function createJsonEditor({ key }: ClientDefinition): SettingsEditor {
  return {
    read: async (text, name) => readPath(await parseJson(text), [...key, name]),
    all: async text => readEntries(readPath(await parseJson(text), key)),
    async set(text, name, entry) {
      const { modify, applyEdits } = await import('jsonc-parser')
      const source = text.trim() === '' ? '{}\n' : text
      checkMaps(await parseJson(source), key)
      const [plain] = modify(source, [...key, name], entry, {})
      const behind = plain && (await appendAfterProperty(source, plain))
      if (behind !== undefined) return applyEdits(source, [behind])
      return applyEdits(source, modify(source, [...key, name], entry, { formattingOptions: detectFormatting(source) }))
    },
    async remove(text, name) {
      const { modify, applyEdits } = await import('jsonc-parser')
      const { size } = readEntries(readPath(await parseJson(text), key))
      if (size > 1) return applyEdits(text, await removeProperty(text, [...key, name]))
      // Removing the only entry leaves whitespace, so reformat in this case.
      return applyEdits(text, modify(text, [...key, name], undefined, { formattingOptions: detectFormatting(text) }))
    },
  }
}

/** Parses settings. @throws Error with a line number if the text is invalid */
export async function parseSettings(text: string, format: ClientDefinition['format']): Promise<unknown> {
  if (format === 'json') return parseJson(text)
  return format === 'toml' ? parseToml(text) : (await import('../../config/source/plain-yaml.ts')).fromYaml(text)
}

async function parseToml(text: string): Promise<JsonObject> {
  const { parse } = await import('smol-toml')
  try {
    // Converts tables without a prototype, and dates, to plain data.
    return JSON.parse(JSON.stringify(parse(text))) as JsonObject
  } catch (error) {
    throw new Error(error instanceof Error ? error.message.split('\n')[0] : String(error), { cause: error })
  }
}

async function parseJson(text: string): Promise<unknown> {
  const { parse, printParseErrorCode } = await import('jsonc-parser')
  const errors: ParseError[] = []
  const value: unknown = parse(text, errors, { allowTrailingComma: true, allowEmptyContent: true })
  const [first] = errors
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split('\n').length
    throw new Error(`line ${line}: ${printParseErrorCode(first.error)}`)
  }
  return value ?? {}
}

/** Throws if a key on the path to the server list is not a map. */
function checkMaps(settings: unknown, key: readonly string[]): void {
  let value: unknown = settings
  for (const name of ['', ...key]) {
    if (name !== '') value = (value as JsonObject)[name]
    if (value === undefined) return
    if (!isObject(value)) throw new Error(name === '' ? 'not a map' : `"${name}" is not a map`)
  }
}

/** Returns an edit that appends after the previous property without changing it; undefined if there is none. */
async function appendAfterProperty(text: string, { offset, content }: Edit): Promise<Edit | undefined> {
  if (!content.startsWith(',')) return undefined
  const { parseTree, findNodeAtOffset } = await import('jsonc-parser')
  const tree = parseTree(text)
  let before = tree && findNodeAtOffset(tree, offset - 1)
  while (before !== undefined && before.type !== 'property') before = before.parent
  if (before === undefined) return undefined
  const lead = text.slice(text.lastIndexOf('\n', before.offset - 1) + 1, before.offset)
  if (lead.trim() !== '') return { offset, length: 0, content: content.replace(',', ', ') }
  const { tabSize, insertSpaces, eol } = detectFormatting(text)
  const made = JSON.stringify(JSON.parse(`{${content.slice(1)}}`), null, insertSpaces ? tabSize : '\t')
  const depth = insertSpaces ? tabSize : 1
  const lines = made.split('\n').slice(1, -1)
  return { offset, length: 0, content: `,${lines.map(line => `${eol}${lead}${line.slice(depth)}`).join('')}` }
}

/** Returns edits that remove a property and its comma, but no comments around it. */
async function removeProperty(text: string, path: string[]): Promise<Edit[]> {
  const { parseTree, findNodeAtLocation, createScanner } = await import('jsonc-parser')
  const tree = parseTree(text)
  const property = tree && findNodeAtLocation(tree, path)?.parent
  if (property === undefined) return []
  const findComma = ({ offset, length }: JsonNode): number | undefined => {
    const scanner = createScanner(text, true)
    scanner.setPosition(offset + length)
    scanner.scan()
    const next = scanner.getTokenOffset()
    return text[next] === ',' ? next : undefined
  }
  const comma = findComma(property)
  if (comma !== undefined) return [removeLines(text, property.offset, comma + 1)]
  const previous = property.parent?.children?.findLast(({ offset }) => offset < property.offset)
  const commaBefore = previous && findComma(previous)
  return [
    ...(commaBefore === undefined ? [] : [{ offset: commaBefore, length: 1, content: '' }]),
    removeLines(text, property.offset, property.offset + property.length),
  ]
}

/** Returns an edit that removes the text, with its lines if nothing else is on them, else with the spaces next to it. */
function removeLines(text: string, start: number, end: number): Edit {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1
  const before = text.slice(lineStart, start)
  const [after = '', lineBreak] = /^[ \t]*(\r?\n)?/.exec(text.slice(end)) ?? []
  const createEdit = (from: number, to: number): Edit => ({ offset: from, length: to - from, content: '' })
  if (lineBreak === undefined && after !== '') return createEdit(start, end + after.length)
  if (lineBreak !== undefined && before.trim() === '') return createEdit(lineStart, end + after.length)
  return createEdit(lineStart + before.trimEnd().length, end)
}

/** Detects indentation and line endings. */
function detectFormatting(text: string): { tabSize: number; insertSpaces: boolean; eol: string } {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? '  '
  return {
    tabSize: indent.startsWith('\t') ? 1 : indent.length,
    insertSpaces: !indent.startsWith('\t'),
    eol: text.includes('\r\n') ? '\r\n' : '\n',
  }
}

/** Appends a table, so that the rest of the file is not rewritten. */
function createTomlEditor({ key }: ClientDefinition): SettingsEditor {
  const removeTable = (text: string, name: string): string => {
    const eol = text.includes('\r\n') ? '\r\n' : '\n'
    const headers = [name, JSON.stringify(name), `'${name}'`].map(one => `[${[...key, one].join('.')}`)
    const lines = text.split(eol)
    const start = lines.findIndex(line =>
      headers.some(header => [']', '.'].some(end => line.trim().startsWith(header + end))),
    )
    if (start === -1) return text
    const end = findTableEnd(lines, start)
    const from = start > 0 && lines[start - 1] === '' && end === lines.length ? start - 1 : start
    const retainedLines = [...lines.slice(0, from), ...lines.slice(end)]
    if (end === lines.length && retainedLines.length > 0) retainedLines.push('')
    // The table may have others below it, such as its env.
    return removeTable(retainedLines.join(eol), name)
  }
  return {
    read: async (text, name) => readPath(await parseToml(text), [...key, name]),
    all: async text => readEntries(readPath(await parseToml(text), key)),
    async set(text, name, entry) {
      const eol = text.includes('\r\n') ? '\r\n' : '\n'
      const settings = await parseToml(text)
      checkMaps(settings, key)
      const before = removeTable(text, name)
      const gap = before === '' ? '' : before.endsWith(eol) ? eol : `${eol}${eol}`
      const rows = Object.entries(entry).map(([name, value]) => `${name} = ${formatTomlValue(value)}`)
      const made = `${before}${gap}${[formatTomlHeader(key, name), ...rows].join(eol)}${eol}`
      await parseToml(made)
      return made
    },
    remove: async (text, name) => removeTable(text, name),
  }
}

/** Returns the line after a table. A comment above the next table belongs to that one. */
function findTableEnd(lines: readonly string[], start: number): number {
  const length = lines.slice(start + 1).findIndex(line => line.trimStart().startsWith('['))
  const next = length === -1 ? lines.length : start + 1 + length
  const last = start + lines.slice(start, next).findLastIndex(line => !/^\s*(#|$)/.test(line))
  const comment = lines.slice(last + 1, next).findIndex(line => line.trim() !== '')
  return comment === -1 ? next : last + 1 + comment
}

function formatTomlHeader(key: readonly string[], name: string): string {
  return `[${[...key, /^[\w-]+$/.test(name) ? name : JSON.stringify(name)].join('.')}]`
}

/** JSON strings are valid TOML. */
function formatTomlValue(value: unknown): string {
  if (isObject(value))
    return `{ ${Object.entries(value)
      .map(([key, one]) => `${JSON.stringify(key)} = ${formatTomlValue(one)}`)
      .join(', ')} }`
  return Array.isArray(value) ? `[${value.map(formatTomlValue).join(', ')}]` : JSON.stringify(value)
}

function createYamlEditor({ key, list = false, base }: ClientDefinition): SettingsEditor {
  const all = async (text: string): Promise<ReadonlyMap<string, unknown>> => {
    const { fromYaml } = await import('../../config/source/plain-yaml.ts')
    const servers = readPath(fromYaml(text) ?? {}, key)
    if (!list) return readEntries(servers)
    const items: readonly unknown[] = Array.isArray(servers) ? servers : []
    // The first entry with a name wins.
    return new Map(items.flatMap(one => (isObject(one) ? [[String(one.name), one] as const] : [])).reverse())
  }
  return {
    read: async (text, name) => (await all(text)).get(name),
    all,
    async set(text, name, entry) {
      const { setYamlEntry } = await import('../../config/source/plain-yaml.ts')
      const isNew = base !== undefined && text.trim() === ''
      return setYamlEntry(
        isNew ? (await import('../../config/source/plain-yaml.ts')).toYaml(base) : text,
        key,
        name,
        entry,
        list,
      )
    },
    async remove(text, name) {
      const { removeYamlEntry } = await import('../../config/source/plain-yaml.ts')
      return removeYamlEntry(text, key, name, list)
    },
  }
}

function readEntries(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(isObject(value) ? Object.entries(value) : [])
}

function readPath(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (node, key) => (isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined),
    value,
  )
}
