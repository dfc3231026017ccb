import { existsSync } from 'node:fs'
import { readFile, realpath, rename, unlink } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { gatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { tryParseJson } from '../../util/plain-data.ts'
import { HIDDEN, isSecretName } from '../../util/secrets.ts'
import { withFileLock } from '../../util/storage/file-lock.ts'
import { makeDirectory, writeFileAtomic } from '../../util/storage/files.ts'
import type { Terminal } from '../output/terminal.ts'
import type { ClientDefinition } from './clients.ts'
import { CLIENTS, findSettingsFile, isInstalled } from './clients.ts'
import type { EntryValues } from './server-entry.ts'
import { createClientEntry } from './server-entry.ts'
import type { SettingsFile } from './settings-editor.ts'
import { readSettingsFile, selectEditor, writeSettingsFile } from './settings-editor.ts'

/** Entry written by `gateway connect`, with the settings before and after it. */
export interface ConnectRecord {
  readonly client: string
  /** Settings file, with links resolved. */
  readonly file: string
  /** Entry name. */
  readonly name: string
  readonly entry: JsonObject
  /** Settings before the first connection; absent if there was no file. */
  readonly before?: string | undefined
  /** Written settings. If they are unchanged, undo restores the earlier ones byte for byte. */
  readonly after?: string | undefined
  /** Servers removed from the settings, to restore them. */
  readonly moved?: readonly MovedServer[]
}

export interface MovedServer {
  /** Key path of its list. */
  readonly key: readonly string[]
  readonly name: string
  readonly entry: JsonObject
}

type RecordKey = Pick<ConnectRecord, 'file' | 'name'>

/** Entries written by `gateway connect` for this user, in a file of the state directory that only the user can read. */
export class ConnectRecords {
  readonly #file: string

  constructor(directory: string) {
    this.#file = join(directory, 'connected.json')
  }

  async list(): Promise<readonly ConnectRecord[]> {
    const records = tryParseJson(await readFile(this.#file, 'utf8').catch(() => '[]'))
    return Array.isArray(records) ? (records.filter(isObject) as unknown as ConnectRecord[]) : []
  }

  async find({ file, name }: RecordKey): Promise<ConnectRecord | undefined> {
    return (await this.list()).find(one => one.file === file && one.name === name)
  }

  /** Replaces an entry's record, or removes it. */
  async record({ file, name }: RecordKey, record: ConnectRecord | undefined): Promise<void> {
    await makeDirectory(dirname(this.#file), 0o700)
    await withFileLock(`${this.#file}.lock`, async () => {
      const others = (await this.list()).filter(one => one.file !== file || one.name !== name)
      const text = JSON.stringify(record === undefined ? others : [...others, record], undefined, 2)
      await writeFileAtomic(this.#file, Buffer.from(`${text}\n`), rename)
    })
  }
}

/** Planned change to client settings, or the reason why it is not possible. */
export interface ConnectPlan {
  readonly client: ClientDefinition
  /** Absent if the client has no settings file on this platform. */
  readonly file?: string
  readonly entry?: JsonObject
  readonly before?: SettingsFile
  readonly after?: string
  /** Servers that this or an earlier plan removes. */
  readonly moved?: readonly MovedServer[]
  /** True if nothing is to change: the entry already exists. */
  readonly isDone?: boolean
  readonly problem?: string
}

export interface ConnectOptions {
  readonly scope: 'user' | 'project'
  readonly values: EntryValues
  /** Names of servers to remove from the settings, by file. */
  readonly moves?: ReadonlyMap<string, readonly string[]>
  readonly connections: ConnectRecords
  readonly terminal: Terminal
}

/** Client state for `gateway connect` without arguments. */
export interface ClientStatus {
  readonly client: string
  readonly title: string
  readonly file: string | undefined
  readonly isInstalled: boolean
  /** Entry names written by `gateway connect`. */
  readonly connected: readonly string[]
}

export async function listClientStatus(connections: ConnectRecords, terminal: Terminal): Promise<ClientStatus[]> {
  const all = await connections.list()
  return CLIENTS.map(client => ({
    client: client.name,
    title: client.title,
    file: findSettingsFile(client, 'user', terminal),
    isInstalled: isInstalled(client, terminal),
    connected: all.filter(one => one.client === client.name).map(({ name }) => name),
  }))
}

/** Plans a client's connection. Never throws: a problem is part of the plan. */
export async function planConnect(client: ClientDefinition, options: ConnectOptions): Promise<ConnectPlan> {
  const { scope, values, terminal } = options
  const entry = createClientEntry(client, values)
  if (entry === undefined) return { client, problem: 'it does not support URLs: omit --http' }
  const file = findSettingsFile(client, scope, terminal)
  if (file === undefined)
    return {
      client,
      problem: scope === 'project' ? 'it has no project settings' : 'it is not available on this platform',
    }
  try {
    const before = await readSettingsFile(file)
    await throwIfOutsideProject(file, scope, terminal.cwd)
    return await planChange({ client, file, entry, before }, options)
  } catch (error) {
    return { client, file, problem: getErrorMessage(error) }
  }
}

type PlanBase = Required<Pick<ConnectPlan, 'client' | 'file' | 'entry' | 'before'>>

/** Plans to set the entry and to move servers. @throws Error if the settings are invalid */
async function planChange(base: PlanBase, options: ConnectOptions): Promise<ConnectPlan> {
  const { client, file, entry, before } = base
  const { values, moves, connections, terminal } = options
  const { name } = values
  const editor = selectEditor(client)
  const { path, text = '' } = before
  const earlier: Partial<ConnectRecord> = (await connections.find({ file: path, name })) ?? {}
  const present = await editor.read(text, name)
  const isSet = isDeepStrictEqual(present, entry)
  if (![entry, earlier.entry, undefined].some(own => isDeepStrictEqual(present, own)))
    return { client, file, problem: `it already has another entry named "${name}": choose a different --name` }
  const connected = isSet ? text : await editor.set(text, name, entry)
  const { after, removed } = await removeServers(connected, client, moves?.get(file) ?? [], terminal.cwd)
  const moved = [...removed, ...(earlier.moved ?? [])]
  if (after === text) return { ...base, moved, isDone: true }
  // Verify that the client would find the entry.
  if (!isDeepStrictEqual(await editor.read(after, name), entry))
    return { client, file, problem: `${client.title} would not find the entry in this file` }
  return { ...base, after, moved }
}

/** Removes servers of the user, and those that Claude Code has for the project in `directory`. */
async function removeServers(
  text: string,
  client: ClientDefinition,
  names: readonly string[],
  directory: string,
): Promise<{ readonly after: string; readonly removed: readonly MovedServer[] }> {
  const removed: MovedServer[] = []
  let after = text
  for (const name of names)
    for (const key of [['projects', directory, ...client.key], client.key]) {
      const editor = selectEditor({ ...client, key })
      const entry = await editor.read(after, name)
      if (!isObject(entry)) continue
      const without = await editor.remove(after, name)
      // A repeated key in JSON: the file stays as it is.
      if (without === after || (await editor.read(without, name)) !== undefined) continue
      removed.push({ key, name, entry })
      after = without
      break
    }
  return { after, removed }
}

/** Rejects links from a project to the user's other files. @throws Error with a reason */
async function throwIfOutsideProject(file: string, scope: ConnectOptions['scope'], directory: string): Promise<void> {
  if (scope === 'user') return
  let ancestor = file
  while (!existsSync(ancestor)) ancestor = dirname(ancestor)
  const path = relative(await realpath(directory), await realpath(ancestor))
  if (path.split(sep)[0] === '..' || isAbsolute(path)) throw new Error('a symbolic link leads out of the project')
}

/**
 * Plans again and writes, because many clients change their settings at any time, and records how to undo it.
 * @throws GatewayError GW_USAGE if the entry can no longer be written
 */
export async function applyPlan(plan: ConnectPlan, options: ConnectOptions): Promise<void> {
  if (plan.after === undefined) return
  const now = await planConnect(plan.client, options)
  const { file = '', problem } = now
  if (problem !== undefined) throw gatewayError('GW_USAGE', { what: `${file} was changed in the meantime: ${problem}` })
  await writePlan(now, options)
}

async function writePlan(
  { client, entry, before, after, moved = [] }: ConnectPlan,
  { values: { name }, connections }: ConnectOptions,
): Promise<void> {
  if (entry === undefined || before === undefined || after === undefined) return
  const key = { file: before.path, name }
  const earlier = await connections.find(key)
  // Undo restores the file from before the first connection, unless it was changed since.
  const original = earlier === undefined ? before.text : earlier.before
  const texts = earlier === undefined || earlier.after === before.text ? { before: original, after } : {}
  // Recorded first: the record is the only copy of removed servers.
  await connections.record(key, { client: client.name, ...key, entry, ...texts, moved })
  try {
    await writeSettingsFile(before, after)
  } catch (error) {
    await connections.record(key, earlier)
    throw error
  }
}

export interface UndoResult {
  readonly client: string
  readonly file: string
  readonly name: string
  readonly outcome: 'restored' | 'removed' | 'gone' | 'left'
  /** Reason if the entry was kept. */
  readonly why?: string
}

interface UndoPlan {
  readonly result: UndoResult
  /** Current settings; absent if they are not changed. */
  readonly before?: SettingsFile
  /** Text after the change; undefined if the file is deleted. */
  readonly after?: string | undefined
}

/** Plans to remove an entry. A changed entry stays. Never throws. */
async function planUndo(connected: ConnectRecord): Promise<UndoPlan> {
  const { client: id, file, name, entry, moved = [] } = connected
  const createResult = (outcome: UndoResult['outcome'], reason?: string): UndoResult => ({
    ...{ client: id, file, name, outcome },
    ...(reason === undefined ? {} : { why: reason }),
  })
  const createGoneResult = (): UndoResult =>
    moved.length === 0
      ? createResult('gone')
      : createResult('left', 'the file is missing, and servers were removed from it: create it again first')
  const client = CLIENTS.find(one => one.name === id)
  try {
    const now = await readSettingsFile(file)
    if (now.text === undefined || client === undefined) return { result: createGoneResult() }
    if (now.text === connected.after) return { result: createResult('restored'), before: now, after: connected.before }
    const editor = selectEditor(client)
    const present = await editor.read(now.text, name)
    if (present !== undefined && !isDeepStrictEqual(present, entry))
      return { result: createResult('left', 'the entry was changed later') }
    const restored = await restoreServers(now.text, client, moved)
    const after = present === undefined ? restored : await editor.remove(restored, name)
    if (after === now.text) return { result: createResult('gone') }
    // Throws if the editor made the file invalid.
    await editor.read(after, name)
    return { result: createResult('removed'), before: now, after }
  } catch (error) {
    return { result: createResult('left', getErrorMessage(error)) }
  }
}

/** Restores removed servers, unless others have their names. */
export async function restoreServers(
  text: string,
  client: ClientDefinition,
  moved: readonly MovedServer[],
): Promise<string> {
  let restored = text
  for (const { key, name, entry } of moved) {
    const editor = selectEditor({ ...client, key })
    if ((await editor.read(restored, name)) === undefined) restored = await editor.set(restored, name, entry)
  }
  return restored
}

/** Undoes one connection. */
export async function undoConnect(connected: ConnectRecord, connections: ConnectRecords): Promise<UndoResult> {
  const { result, before, after } = await planUndo(connected)
  if (result.outcome === 'left') return result
  try {
    if (before !== undefined) await (after === undefined ? unlink(connected.file) : writeSettingsFile(before, after))
    await connections.record(connected, undefined)
    return result
  } catch (error) {
    return { ...result, outcome: 'left', why: getErrorMessage(error) }
  }
}

/** Formats added and removed lines with one line of context, without secrets. */
export function formatDiff(before: string, after: string, { paint }: Terminal['out']): string[] {
  return compareLines(before, after).map(line => {
    const text = `  ${redactLine(line)}`
    if (line.startsWith('+')) return paint('green', text)
    return line.startsWith('-') ? paint('red', text) : text
  })
}

/** Assignments with a name, to redact secrets: a settings file may be a single line. */
const NAMED_VALUE = /([\w.-]+)(["']?\s*[:=]\s*)(?:"(?:[^"\\]|\\.)*"|'[^']*')/g

function redactLine(line: string): string {
  return line.replace(NAMED_VALUE, (match, name: string, between: string) =>
    isSecretName(name) ? `${name}${between}"${HIDDEN}"` : match,
  )
}

function compareLines(before: string, after: string): string[] {
  const [old, now] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const formatContext = (index: number): string[] =>
    now[index] === undefined || now[index] === '' ? [] : [`  ${now[index]}`]
  return [
    ...(start > 0 ? formatContext(start - 1) : []),
    ...old
      .slice(start, old.length - end)
      .filter(line => line !== '')
      .map(line => `- ${line}`),
    ...now
      .slice(start, now.length - end)
      .filter(line => line !== '')
      .map(line => `+ ${line}`),
    ...(end > 0 ? formatContext(now.length - end) : []),
  ]
}
