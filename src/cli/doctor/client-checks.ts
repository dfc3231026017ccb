import { existsSync } from 'node:fs'
import { dirname, isAbsolute } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { getErrorMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { findProgram } from '../../util/find-program.ts'
import { toOneLine } from '../../util/plain-text.ts'
import type { ClientDefinition } from '../servers/clients.ts'
import { CLIENTS, findSettingsFile, isInstalled } from '../servers/clients.ts'
import type { ConnectRecord } from '../servers/connect.ts'
import { ConnectRecords } from '../servers/connect.ts'
import { selectEditor, readSettingsFile } from '../servers/settings-editor.ts'
import { toUpstreamName } from '../server-names.ts'
import { getStateDirectory } from '../load-source.ts'
import type { DoctorContext, DoctorFinding } from './doctor-findings.ts'
import { createFinding } from './doctor-findings.ts'
import { splitPath } from '../../util/platform.ts'

/** Checks client settings and the entries written by `gateway connect`. */
export async function checkClients(context: DoctorContext): Promise<DoctorFinding[]> {
  const state = getStateDirectory({ file: 'any' }, context.terminal)
  if (state === undefined) return []
  const all = await new ConnectRecords(dirname(state)).list()
  const installed = CLIENTS.filter(client => isInstalled(client, context.terminal))
  const findings = await Promise.all([
    ...installed.map(client => checkSettings(client, all, context)),
    ...all.map(connected => checkEntry(connected, context)),
  ])
  return findings.flat()
}

async function checkSettings(
  client: ClientDefinition,
  all: readonly ConnectRecord[],
  { source, terminal }: DoctorContext,
): Promise<DoctorFinding[]> {
  const path = findSettingsFile(client, 'user', terminal)
  if (path === undefined || !existsSync(path)) return []
  const { title, name } = client
  try {
    const { text = '' } = await readSettingsFile(path)
    await selectEditor(client).read(text, 'gateway')
    const own = all.filter(one => one.client === name)
    return own.length > 0 ? await checkOwnServers(client, { text, path }, own, source) : []
  } catch (error) {
    return [createFinding('client-broken', { client: title, path, why: getErrorMessage(error) })]
  }
}

/** Finds servers that a connected client starts itself although the gateway has them. */
async function checkOwnServers(
  client: ClientDefinition,
  { text, path }: { readonly text: string; readonly path: string },
  connected: readonly ConnectRecord[],
  source: DoctorContext['source'],
): Promise<DoctorFinding[]> {
  const ours = new Set(connected.map(({ name }) => name))
  const upstreams = source?.config.upstreams ?? {}
  const servers = [...(await selectEditor(client).all(text))].flatMap(([name, entry]) => {
    // Client names are unrestricted: "My Files" becomes "my-files".
    const upstream = toUpstreamName(name)
    if (ours.has(name) || isDisabled(entry) || !Object.hasOwn(upstreams, upstream)) return []
    return [name === upstream ? name : `${toOneLine(name)} (here ${upstream})`]
  })
  if (servers.length === 0) return []
  return [createFinding('client-own-servers', { client: client.title, servers: servers.join(', '), path })]
}

/** True for a disabled entry; clients use either key. */
function isDisabled(entry: unknown): boolean {
  return isObject(entry) && (entry.disabled === true || entry.enabled === false)
}

/** Checks that the program and the configuration of an own, unchanged entry still exist. */
async function checkEntry(connected: ConnectRecord, { terminal }: DoctorContext): Promise<DoctorFinding[]> {
  const client = CLIENTS.find(({ name }) => name === connected.client)
  if (client === undefined) return []
  const present = await readCurrentEntry(client, connected)
  const line = isDeepStrictEqual(present, connected.entry) ? parseCommandLine(connected.entry) : []
  const at = line.findIndex((argument, i) => i > 0 && argument === 'attach')
  if (at === -1) return []
  const { title, name } = client
  const config = line[line.indexOf('-c', at) + 1]
  if (config !== undefined && isAbsolute(config) && !existsSync(config))
    return [createFinding('client-config-gone', { client: title, config, name })]
  const command = line.slice(0, at).find(argument => isMissing(argument, terminal))
  return command === undefined ? [] : [createFinding('client-command-gone', { client: title, command, name })]
}

async function readCurrentEntry(client: ClientDefinition, { file, name }: ConnectRecord): Promise<unknown> {
  try {
    return await selectEditor(client).read((await readSettingsFile(file)).text ?? '', name)
  } catch {
    // Invalid settings are reported separately.
    return undefined
  }
}

function isMissing(program: string, { cwd, environment }: DoctorContext['terminal']): boolean {
  if (isAbsolute(program)) return !existsSync(program)
  return findProgram(program, splitPath(environment['PATH']), cwd) === undefined
}

/** Returns an entry's program and arguments, in any client format. */
function parseCommandLine(entry: JsonObject): string[] {
  const { command, cmd, args, path } = entry
  if (isObject(command)) return parseCommandLine(command)
  const parts = [command ?? cmd ?? path ?? [], args ?? []].flat()
  return parts.filter(part => typeof part === 'string')
}
