import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { JsonObject } from '../../protocol/json/json.ts'
import { getPlatform } from '../../util/platform.ts'
import type { Terminal } from '../output/terminal.ts'
import data from './clients.json' with { type: 'json' }

/** A program that uses MCP servers: where it keeps their list, and in which form. A row of clients.json. */
export interface ClientDefinition {
  readonly name: string
  readonly title: string
  readonly format: 'json' | 'toml' | 'yaml'
  /** The user's file, by platform; `~` and `%APPDATA%` are filled in. */
  readonly user: Readonly<Record<string, string>>
  /** Files that go before the user's where they are there. */
  readonly others?: readonly string[]
  /** A variable that names the directory of the user's file. */
  readonly home?: { readonly variable: string; readonly file: string }
  /** The file of a project, relative to it. */
  readonly project?: string
  /** Keys to the list of servers. */
  readonly key: readonly string[]
  /** True where that is a list of maps with a `name`. */
  readonly list?: boolean
  /** Keys without which the client refuses its file; written into a new one. */
  readonly base?: JsonObject
  /** Entry of a server on a pipe; `$command`, `$args`, `$line` and `$name` stand for values. */
  readonly stdio: JsonObject
  /** Entry of a server at a `$url`. */
  readonly http?: JsonObject
  /** Advice for its owner. */
  readonly note?: string
  /** Command of the client that lists its servers. */
  readonly check?: string
  /** Version of the client, and the file or command of it, that this row was compared with. */
  readonly checked: { readonly version: string; readonly against: string }
}

export const CLIENTS = data.clients as unknown as readonly ClientDefinition[]

/** The file of a client's settings: the user's, or that of the project in the working directory. */
export function findSettingsFile(
  client: ClientDefinition,
  scope: 'user' | 'project',
  terminal: Pick<Terminal, 'cwd' | 'environment'>,
): string | undefined {
  const { cwd, environment } = terminal
  if (scope === 'user') return findUserSettings(client, environment)
  return client.project === undefined ? undefined : resolve(cwd, client.project)
}

function findUserSettings(
  { home, others = [], user }: ClientDefinition,
  environment: Terminal['environment'],
): string | undefined {
  const own = home === undefined ? undefined : environment[home.variable]
  if (home !== undefined && own) return join(own, home.file)
  const before = others.map(file => expandPath(file, environment)).find(file => file && existsSync(file))
  const path = user[getPlatform().name] ?? user.linux
  return before ?? (path === undefined ? undefined : expandPath(path, environment))
}

/** True where the client seems to be on this machine: its settings are there, or their directory. */
export function isInstalled(client: ClientDefinition, terminal: Terminal): boolean {
  const file = findSettingsFile(client, 'user', terminal)
  if (file === undefined) return false
  const directory = dirname(file)
  return existsSync(file) || (directory !== terminal.environment['HOME'] && existsSync(directory))
}

function expandPath(path: string, environment: Terminal['environment']): string | undefined {
  const home = environment['HOME'] ?? environment['USERPROFILE']
  let isKnown = true
  const filled = path
    .replace(/^~/, () => home ?? ((isKnown = false), ''))
    .replace(/%(\w+)%/g, (_, name: string) => environment[name] ?? ((isKnown = false), ''))
  return isKnown ? filled : undefined
}

/** Values of an entry. */
export interface EntryValues {
  readonly name: string
  /** The program and its arguments; for an entry on a pipe. */
  readonly line: readonly string[]
  readonly url?: string
}

/** A client's entry for the gateway; undefined where the client takes no URL. */
export function createClientEntry(
  { stdio, http }: ClientDefinition,
  { name, line, url }: EntryValues,
): JsonObject | undefined {
  const [command, ...args] = line
  const values: Readonly<Record<string, unknown>> = {
    $name: name,
    $command: command,
    $args: args,
    $line: line,
    $url: url,
  }
  const form = url === undefined ? stdio : http
  if (form === undefined) return undefined
  return Object.fromEntries(
    Object.entries(form).map(([key, value]) => [
      key,
      typeof value === 'string' && value in values ? values[value] : value,
    ]),
  )
}

/** A way to add the gateway to a client by hand: a link or a command where the client has one, and the text for its settings. */
interface ClientExport {
  readonly client: string
  readonly link?: string
  readonly snippet: JsonObject | undefined
}

export function createExport(client: ClientDefinition, values: EntryValues): ClientExport {
  const entry = createClientEntry(client, values)
  const link = entry === undefined ? undefined : createInstallLink(client.name, values.name, entry)
  const snippet =
    entry === undefined
      ? undefined
      : (client.key.reduceRight<unknown>(
          (inner, key) => ({ [key]: inner }),
          client.list === true ? [entry] : { [values.name]: entry },
        ) as JsonObject)
  return { client: client.name, ...(link === undefined ? {} : { link }), snippet }
}

function createInstallLink(client: string, name: string, entry: JsonObject): string | undefined {
  if (client === 'cursor') {
    const config = encodeURIComponent(Buffer.from(JSON.stringify(entry)).toString('base64'))
    return `cursor://anysphere.cursor-deeplink/mcp/install?name=${encodeURIComponent(name)}&config=${config}`
  }
  if (client !== 'vscode' && client !== 'vscode-insiders') return undefined
  const scheme = client === 'vscode' ? 'vscode' : 'vscode-insiders'
  return `${scheme}:mcp/install?${encodeURIComponent(JSON.stringify({ name, ...entry }))}`
}
