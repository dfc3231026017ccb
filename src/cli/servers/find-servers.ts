import { existsSync } from 'node:fs'
import { getErrorMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { toOneLine } from '../../util/plain-text.ts'
import type { ClientDefinition } from './clients.ts'
import { CLIENTS, findSettingsFile, isInstalled } from './clients.ts'
import { convertServers, readSettings } from './formats.ts'
import type { Terminal } from '../output/terminal.ts'
import { createLocalEntry } from './server-entry.ts'
import { findFreeName, toUpstreamName } from '../server-names.ts'

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
  /** Settings files with their server counts. */
  readonly files: readonly { readonly client: string; readonly file: string; readonly count: number }[]
  readonly notes: readonly string[]
  /** Installed clients, with or without servers. */
  readonly clients: readonly ClientDefinition[]
}

const MAX_SERVERS = 500

/** Reads the user and project settings of all clients. */
export async function findServers(terminal: Terminal): Promise<DetectionResult> {
  const detector = new ServerDetector(terminal)
  for (const client of CLIENTS)
    for (const scope of ['user', 'project'] as const) {
      const file = findSettingsFile(client, scope, terminal)
      if (file !== undefined && existsSync(file)) await detector.read(client, file)
    }
  const clients = CLIENTS.filter(client => isInstalled(client, terminal))
  return { servers: detector.servers, files: detector.files, notes: detector.notes, clients }
}

class ServerDetector {
  readonly files: DetectionResult['files'][number][] = []
  readonly notes: string[] = []
  readonly #terminal: Terminal
  readonly #readFiles = new Set<string>()
  /** By normalized upstream. */
  readonly #servers = new Map<string, { name: string; upstream: JsonObject; from: string[] }>()
  readonly #names: Record<string, true> = {}

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  get servers(): readonly DetectedServer[] {
    return [...this.#servers.values()]
  }

  /** Reads each file once, as clients may share it. An unreadable file becomes a note. */
  async read(client: ClientDefinition, file: string): Promise<void> {
    if (this.#readFiles.has(file)) return
    this.#readFiles.add(file)
    const addNote = (name: string, text: string): void =>
      void this.notes.push(toOneLine(`${client.title}, ${name}: ${text}`))
    try {
      const at = { file, directory: this.#terminal.cwd }
      const { entries } = convertServers(await readSettings(file), at, {
        note: addNote,
        leave: () => undefined,
      })
      for (const { originalName, upstream } of entries) this.#add(client, originalName, upstream)
      if (entries.length > 0) this.files.push({ client: client.title, file, count: entries.length })
    } catch (error) {
      const message = getErrorMessage(error)
      if (!/no servers found/.test(message)) this.notes.push(toOneLine(`${client.title}: ${message}`))
    }
  }

  #add({ title }: ClientDefinition, originalName: string, upstream: JsonObject): void {
    const key = getServerKey(upstream)
    const existing = this.#servers.get(key)
    const name = existing?.name ?? findFreeName(toUpstreamName(originalName), this.#names)
    const from = name === originalName ? title : `${title} (as ${toOneLine(originalName)})`
    if (existing !== undefined) {
      if (!existing.from.includes(from)) existing.from.push(from)
      return
    }
    if (this.#servers.size >= MAX_SERVERS) return
    this.#names[name] = true
    this.#servers.set(key, { name, upstream, from: [from] })
  }
}

/** Normalizes key order and ignores timeouts. */
function getServerKey(upstream: JsonObject): string {
  const { timeout: _, startupTimeout: __, ...rest } = upstream
  return JSON.stringify(sortKeys(rest))
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isObject(value)) return value
  return Object.keys(value)
    .sort()
    .map(key => [key, sortKeys(value[key])])
}
