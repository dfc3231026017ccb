import { existsSync, realpathSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { getErrorMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { toOneLine } from '../../util/plain-text.ts'
import type { ClientDefinition } from './clients.ts'
import { CLIENTS, findSettingsFile, isInstalled } from './clients.ts'
import { openConnectRecords } from './connect-command.ts'
import { restoreServers } from './connect.ts'
import { convertServers, readSettings } from './formats.ts'
import type { Terminal } from '../output/terminal.ts'
import { createLocalEntry } from './server-entry.ts'
import { toUpstreamName } from '../server-names.ts'

/** Servers to start with if no client has one; they are npm packages and need only Node. */
export const STARTERS: readonly (DetectedServer & { readonly title: string })[] = [
  {
    name: 'files',
    title: 'read and write files in this directory',
    upstream: createNpxServer('@modelcontextprotocol/server-filesystem', '.'),
    from: ['a starter'],
  },
  {
    name: 'memory',
    title: 'a knowledge graph as memory for the model',
    upstream: createNpxServer('@modelcontextprotocol/server-memory'),
    from: ['a starter'],
  },
  {
    name: 'everything',
    title: 'an example of every MCP feature',
    upstream: createNpxServer('@modelcontextprotocol/server-everything'),
    from: ['a starter'],
  },
]

function createNpxServer(name: string, ...args: string[]): JsonObject {
  return createLocalEntry('npx', ['-y', name, ...args])
}

/** Server found in client settings. */
export interface DetectedServer {
  /** Upstream name. */
  readonly name: string
  readonly upstream: JsonObject
  /** Clients with this server, with their own name for it if different. */
  readonly from: readonly string[]
}

export interface DetectionResult {
  readonly servers: readonly DetectedServer[]
  /** Settings files with their enabled servers' names. */
  readonly files: readonly { readonly client: string; readonly file: string; readonly servers: readonly string[] }[]
  readonly notes: readonly string[]
  /** Installed clients, with or without servers. */
  readonly clients: readonly ClientDefinition[]
}

/** Reads all clients' user and project settings. An unreadable file becomes a note. */
export async function findServers(terminal: Terminal): Promise<DetectionResult> {
  const collector = new ServerCollector(true)
  const files: DetectionResult['files'][number][] = []
  const readFiles = new Set<string>()
  const records = await openConnectRecords(terminal).list()
  for (const client of CLIENTS)
    for (const scope of ['user', 'project'] as const) {
      const file = findSettingsFile(client, scope, terminal)
      // Clients may share a file.
      if (file === undefined || readFiles.has(file) || !existsSync(file)) continue
      readFiles.add(file)
      try {
        const at = { file, directory: terminal.cwd }
        const note = (name: string, text: string): void => collector.note(`${client.title}, ${name}`, text)
        // An earlier init may have removed servers from the settings.
        const moved = records.filter(one => one.file === realpathSync(file)).flatMap(one => one.moved ?? [])
        const settings = await readSettings(file, text => restoreServers(text, client, moved))
        const { entries } = convertServers(settings, at, { note, leave: () => undefined })
        for (const { originalName, upstream } of entries) collector.add(originalName, upstream, client.title)
        const names = entries.filter(one => one.upstream.enabled !== false).map(one => one.originalName)
        if (names.length > 0) files.push({ client: client.title, file, servers: names })
      } catch (error) {
        const message = getErrorMessage(error)
        if (!message.includes('no servers found')) collector.note(client.title, message)
      }
    }
  const clients = CLIENTS.filter(client => isInstalled(client, terminal))
  return { servers: collector.servers, files, notes: [...collector.notes], clients }
}

/** Servers of several settings, under unique names; equal ones only once, whatever their timeouts. */
export class ServerCollector {
  /** True if equal servers with different names are merged. */
  readonly #mergesNames: boolean
  readonly notes = new Set<string>()
  /** Keys that only concern clients. */
  readonly leftKeys = new Set<string>()
  readonly #servers: { name: string; upstream: JsonObject; from: string[] }[] = []

  constructor(mergesNames: boolean) {
    this.#mergesNames = mergesNames
  }

  get servers(): readonly DetectedServer[] {
    return this.#servers
  }

  readonly note = (name: string, text: string): void => void this.notes.add(toOneLine(`${name}: ${text}`))
  readonly leave = (_name: string, key: string): void => void this.leftKeys.add(toOneLine(key))

  /** Adds a server under an unused name, unless there is an equal one. Returns its name. */
  add(name: string, upstream: JsonObject, from: string): string {
    const wanted = toUpstreamName(name)
    const existing = this.#servers.find(
      one => (this.#mergesNames || one.name === wanted) && isSameServer(one.upstream, upstream),
    )
    const own = existing?.name ?? this.#findFreeName(wanted)
    const source = own === name ? from : `${from} (as ${toOneLine(name)})`
    if (existing === undefined) this.#servers.push({ name: own, upstream, from: [source] })
    else if (!existing.from.includes(source)) existing.from.push(source)
    return own
  }

  #findFreeName(name: string): string {
    const isTaken = (candidate: string): boolean => this.#servers.some(one => one.name === candidate)
    for (let number = 2, candidate = name; ; number++) {
      if (!isTaken(candidate)) return candidate
      candidate = `${name}-${number}`
    }
  }
}

function isSameServer(
  { timeout: _, startupTimeout: __, ...one }: JsonObject,
  { timeout: ___, startupTimeout: ____, ...other }: JsonObject,
): boolean {
  return isDeepStrictEqual(one, other)
}
