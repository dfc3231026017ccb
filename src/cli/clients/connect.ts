import { existsSync } from 'node:fs'
import { readFile, realpath, unlink } from 'node:fs/promises'
import { dirname, isAbsolute, relative, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { gatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import type { ClientDefinition, EntryValues } from './clients.ts'
import { CLIENTS, createClientEntry, isInstalled, findSettingsFile } from './clients.ts'
import type { ConnectRecord, ConnectRecords } from './connect-records.ts'
import { hashBytes } from './connect-records.ts'
import type { SettingsFile } from './settings-editor.ts'
import { selectEditor, readSettingsFile, writeSettingsFile } from './settings-editor.ts'
import type { Terminal } from '../output/terminal.ts'

/** Change that would be made to a client's settings, or the reason why there is none. */
export interface ConnectPlan {
  readonly client: ClientDefinition
  /** Absent where the client has no such file on this system. */
  readonly file?: string
  readonly entry?: JsonObject
  readonly before?: SettingsFile
  readonly after?: string
  /** True where the entry is there already. */
  readonly isDone?: boolean
  readonly problem?: string
}

export interface ConnectOptions {
  readonly scope: 'user' | 'project'
  readonly values: EntryValues
  readonly connections: ConnectRecords
  readonly terminal: Terminal
}

/** State of a client, for people who choose. */
export interface ClientStatus {
  readonly client: string
  readonly title: string
  readonly file: string | undefined
  readonly isInstalled: boolean
  /** Names of the entries that `gateway connect` has written. */
  readonly connected: readonly string[]
}

export async function listClientStatus(
  connections: ConnectRecords,
  terminal: Terminal,
): Promise<ClientStatus[]> {
  const all = await connections.list()
  return CLIENTS.map(client => ({
    client: client.name,
    title: client.title,
    file: findSettingsFile(client, 'user', terminal),
    isInstalled: isInstalled(client, terminal),
    connected: all.filter(one => one.client === client.name).map(({ name }) => name),
  }))
}

/** Works out what connecting a client would write. Never throws: a problem is a part of the plan. */
export async function planConnect(client: ClientDefinition, options: ConnectOptions): Promise<ConnectPlan> {
  const { scope, values, connections, terminal } = options
  const entry = createClientEntry(client, values)
  if (entry === undefined) return { client, problem: 'it takes no URL: leave --http out' }
  const file = findSettingsFile(client, scope, terminal)
  if (file === undefined)
    return {
      client,
      problem: scope === 'project' ? 'it has no file for projects' : 'it is not for this system',
    }
  try {
    const before = await readSettingsFile(file)
    await throwIfOutsideProject(file, scope, terminal.cwd)
    const editor = selectEditor(client)
    const text = before.text ?? ''
    const present = await editor.read(text, values.name)
    if (isDeepStrictEqual(present, entry)) return { client, file, entry, before, isDone: true }
    if (present !== undefined && !(await isOwnEntry(present, before.path, values.name, connections)))
      return {
        client,
        file,
        problem: `it has an entry "${values.name}" of somebody else: choose another --name`,
      }
    const after = await editor.set(text, values.name, entry)
    // As the client will read it: nothing is written that it would not find.
    if (!isDeepStrictEqual(await editor.read(after, values.name), entry))
      return { client, file, problem: `${client.title} would not find the entry in it` }
    return { client, file, entry, before, after }
  } catch (error) {
    return { client, file, problem: getErrorMessage(error) }
  }
}

/** A link of a project must not lead to other files of its user. @throws Error in words */
async function throwIfOutsideProject(
  file: string,
  scope: ConnectOptions['scope'],
  directory: string,
): Promise<void> {
  if (scope === 'user') return
  let place = file
  while (!existsSync(place)) place = dirname(place)
  const path = relative(await realpath(directory), await realpath(place))
  if (path.split(sep)[0] === '..' || isAbsolute(path))
    throw new Error('it leads out of the project by a link')
}

/** True where the entry is as `gateway connect` has written it. */
async function isOwnEntry(
  present: unknown,
  file: string,
  name: string,
  connections: ConnectRecords,
): Promise<boolean> {
  return isDeepStrictEqual(present, (await connections.find(file, name))?.entry)
}

/**
 * Writes the entry of a plan into the settings as they are now, and notes how to take it back: many clients write into
 * theirs at any time, also while their owner thinks about the plan.
 * @throws GatewayError GW_USAGE where the settings cannot take it any more
 */
export async function applyPlan(plan: ConnectPlan, options: ConnectOptions): Promise<void> {
  if (plan.after === undefined) return
  const now = await planConnect(plan.client, options)
  const { file = '', problem } = now
  if (problem !== undefined)
    throw gatewayError('GW_USAGE', { what: `${file} was changed meanwhile: ${problem}` })
  await writePlan(now, options)
}

async function writePlan(
  { client, entry, before, after }: ConnectPlan,
  { values: { name }, connections }: ConnectOptions,
): Promise<void> {
  if (entry === undefined || before === undefined || after === undefined) return
  const at = new Date().toISOString()
  const earlier = await connections.find(before.path, name)
  const bytes = before.text === undefined ? undefined : await readFile(before.path)
  // The file as it was before the first time is the one that comes back.
  const isSame = earlier !== undefined && bytes !== undefined && hashBytes(bytes) === earlier.written
  const backup = isSame ? earlier.backup : bytes && (await connections.saveBackup(client.name, bytes, at))
  await writeSettingsFile(before, after)
  const written = hashBytes(await readFile(before.path))
  await connections.add({
    ...{ client: client.name, file: before.path, name, entry, written, at },
    ...(backup === undefined ? {} : { backup }),
  })
}

/** Writes another entry in the place of one of ours, and notes it; the file as it was before the first one is kept. */
export async function replaceEntry(
  client: ClientDefinition,
  connected: ConnectRecord,
  entry: JsonObject,
  connections: ConnectRecords,
): Promise<void> {
  const before = await readSettingsFile(connected.file)
  const isSame = hashBytes(await readFile(before.path)) === connected.written
  await writeSettingsFile(before, await selectEditor(client).set(before.text ?? '', connected.name, entry))
  // The kept file lacks what others have written since: then the entry alone is taken back.
  const written = isSame ? hashBytes(await readFile(before.path)) : ''
  await connections.add({ ...connected, entry, written, at: new Date().toISOString() })
}

/** Result of taking one entry back. */
export interface UndoResult {
  readonly client: string
  readonly file: string
  readonly name: string
  readonly outcome: 'restored' | 'removed' | 'gone' | 'left'
  /** Reason why it was left. */
  readonly why?: string
}

/** Change that taking one entry back would make. */
export interface UndoPlan {
  readonly result: UndoResult
  /** Settings as they are; absent where they stay. */
  readonly before?: SettingsFile
  /** Text of the settings after that; undefined where the file goes, as there was none. */
  readonly after?: string | undefined
}

/** Works out what taking an entry back would change. An entry that was changed since then is left. Never throws. */
export async function planUndo(connected: ConnectRecord): Promise<UndoPlan> {
  const { client: id, file, name, entry, written, backup } = connected
  const createResult = (outcome: UndoResult['outcome'], why?: string): UndoResult => ({
    ...{ client: id, file, name, outcome },
    ...(why === undefined ? {} : { why }),
  })
  const client = CLIENTS.find(one => one.name === id)
  try {
    const now = await readSettingsFile(file)
    if (now.text === undefined || client === undefined) return { result: createResult('gone') }
    if (hashBytes(await readFile(file)) === written) {
      const after = backup === undefined ? undefined : await readFile(backup, 'utf8')
      return { result: createResult('restored'), before: { ...now, hasBom: false }, after }
    }
    const editor = selectEditor(client)
    const present = await editor.read(now.text, name)
    if (present === undefined) return { result: createResult('gone') }
    if (!isDeepStrictEqual(present, entry))
      return { result: createResult('left', 'the entry was changed since then') }
    return { result: createResult('removed'), before: now, after: await editor.remove(now.text, name) }
  } catch (error) {
    return { result: createResult('left', getErrorMessage(error)) }
  }
}

/** Takes back what `connect` has written, and nothing else. */
export async function undoConnect(
  connected: ConnectRecord,
  connections: ConnectRecords,
): Promise<UndoResult> {
  const { result, before, after } = await planUndo(connected)
  if (result.outcome === 'left') return result
  try {
    if (before !== undefined)
      await (after === undefined ? unlink(connected.file) : writeSettingsFile(before, after))
    await connections.remove(connected)
    return result
  } catch (error) {
    return { ...result, outcome: 'left', why: getErrorMessage(error) }
  }
}

/** The lines that a text gains and loses, each with its sign, with a line of what stands around them. */
export function formatDiff(before: string, after: string): string[] {
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
