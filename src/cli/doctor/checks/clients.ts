import { existsSync } from 'node:fs'
import { dirname, isAbsolute } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { getErrorMessage } from '../../../errors/errors.ts'
import type { JsonObject } from '../../../protocol/json/json.ts'
import { isObject } from '../../../protocol/json/json.ts'
import { findProgram } from '../../../util/find-program.ts'
import { toOneLine } from '../../../util/plain-text.ts'
import type { Client } from '../../clients/clients.ts'
import { CLIENTS, createClientEntry, isInstalled, findSettingsFile } from '../../clients/clients.ts'
import { rewrite, undo } from '../../clients/connect.ts'
import type { Connected } from '../../clients/connections.ts'
import { Connections } from '../../clients/connections.ts'
import { selectEditor, readSettingsFile } from '../../clients/edit.ts'
import { upstreamName } from '../../server-names.ts'
import { stateDirectory } from '../../load-source.ts'
import type { Complaint, DoctorContext } from '../table.ts'
import { complaint } from '../table.ts'
import { splitPath } from '../../../util/platform.ts'

/** Findings about the settings of clients: whether they can be read, and entries of ours that lead nowhere. */
export async function clientFindings(patient: DoctorContext): Promise<Complaint[]> {
  const state = stateDirectory({ file: 'any' }, patient.terminal)
  if (state === undefined) return []
  const connections = new Connections(dirname(state))
  const all = await connections.all()
  const installed = CLIENTS.filter(client => isInstalled(client, patient.terminal))
  const [settings, entries] = await Promise.all([
    Promise.all(installed.map(client => settingsFindings(client, all, patient))),
    Promise.all(all.map(connected => entryFindings(connected, connections, patient))),
  ])
  return [...settings.flat(), ...entries.flat(), ...unconnected(installed, all)]
}

function unconnected(installed: readonly Client[], all: readonly Connected[]): Complaint[] {
  if (all.length > 0 || installed.length === 0) return []
  return [complaint('no-clients', { clients: installed.map(({ title }) => title).join(', ') })]
}

async function settingsFindings(
  client: Client,
  all: readonly Connected[],
  { source, terminal }: DoctorContext,
): Promise<Complaint[]> {
  const path = findSettingsFile(client, 'user', terminal)
  if (path === undefined || !existsSync(path)) return []
  const { title, name } = client
  try {
    const { text = '' } = await readSettingsFile(path)
    await selectEditor(client).read(text, 'gateway')
    const own = all.filter(one => one.client === name)
    return own.length > 0 ? await ownServers(client, { text, path }, own, source) : []
  } catch (error) {
    const backup = all.find(one => one.client === name)?.backup ?? 'a backup'
    return [complaint('client-broken', { client: title, path, why: getErrorMessage(error), backup })]
  }
}

/** Servers that a client which is connected has of its own and starts, and the gateway has as well. */
async function ownServers(
  client: Client,
  { text, path }: { readonly text: string; readonly path: string },
  connected: readonly Connected[],
  source: DoctorContext['source'],
): Promise<Complaint[]> {
  const ours = new Set(connected.map(({ name }) => name))
  const upstreams = source?.config.upstreams ?? {}
  const servers = [...(await selectEditor(client).all(text))].flatMap(([name, entry]) => {
    // Clients take any name; of "My Files" the gateway makes "my-files".
    const upstream = upstreamName(name)
    if (ours.has(name) || isOff(entry) || !Object.hasOwn(upstreams, upstream)) return []
    return [name === upstream ? name : `${toOneLine(name)} (here ${upstream})`]
  })
  if (servers.length === 0) return []
  return [complaint('client-own-servers', { client: client.title, servers: servers.join(', '), path })]
}

/** True for an entry that is there and not started: each client has one of two words for it. */
function isOff(entry: unknown): boolean {
  return isObject(entry) && (entry.disabled === true || entry.enabled === false)
}

async function entryFindings(
  connected: Connected,
  connections: Connections,
  patient: DoctorContext,
): Promise<Complaint[]> {
  const client = CLIENTS.find(({ name }) => name === connected.client)
  if (client === undefined) return []
  const { file, name: key, entry } = connected
  const about = { client: client.title, name: client.name, path: file }
  const present = await presentEntry(client, file, key)
  if (present === 'unreadable') return []
  if (present === undefined) {
    const mend = { says: `forget the entry in ${file}`, run: () => connections.remove(connected) }
    return [{ ...complaint('client-entry-gone', about), mend }]
  }
  if (!isDeepStrictEqual(present, entry)) return [complaint('client-entry-changed', about)]
  return deadEnds(client, connected, connections, patient)
}

async function presentEntry(client: Client, file: string, key: string): Promise<unknown> {
  try {
    const { text } = await readSettingsFile(file)
    return text === undefined ? undefined : await selectEditor(client).read(text, key)
  } catch {
    // Broken settings are a finding of their own.
    return 'unreadable'
  }
}

/** Entries of ours whose program or configuration is not there any more. */
function deadEnds(
  client: Client,
  connected: Connected,
  connections: Connections,
  { terminal, host }: DoctorContext,
): Complaint[] {
  const line = parseCommandLine(connected.entry)
  const at = line.findIndex((word, i) => i > 0 && word === 'attach')
  if (at === -1) return []
  const { title, name } = client
  const config = line[line.indexOf('-c', at) + 1]
  if (config !== undefined && isAbsolute(config) && !existsSync(config)) {
    const run = async (): Promise<void> => {
      const { outcome, why } = await undo(connected, connections)
      if (outcome === 'left') throw new Error(why)
    }
    const mend = { says: `take the entry out of ${connected.file}`, run }
    return [{ ...complaint('client-config-gone', { client: title, config, name }), mend }]
  }
  const gone = line.slice(0, at).find(word => isGone(word, terminal))
  if (gone === undefined) return []
  const [execPath, launcher] = [host.execPath, String(host.argv[1])]
  const values = { name: connected.name, line: [execPath, launcher, ...line.slice(at)] }
  const entry = createClientEntry(client, values)
  const mend = {
    says: `write ${launcher} into ${connected.file}`,
    run: () => (entry === undefined ? Promise.resolve() : rewrite(client, connected, entry, connections)),
  }
  return [{ ...complaint('client-command-gone', { client: title, command: gone, name }), mend }]
}

function isGone(word: string, { cwd, environment }: DoctorContext['terminal']): boolean {
  if (isAbsolute(word)) return !existsSync(word)
  return findProgram(word, splitPath(environment['PATH']), cwd) === undefined
}

/** The program and arguments of an entry, in whatever form its client has them. */
function parseCommandLine(entry: JsonObject): string[] {
  const { command, cmd, args, path } = entry
  if (isObject(command)) return parseCommandLine(command)
  const words = [command ?? cmd ?? path ?? [], args ?? []].flat()
  return words.filter(word => typeof word === 'string')
}
