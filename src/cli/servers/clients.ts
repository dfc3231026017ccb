import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { JsonObject } from '../../protocol/json/json.ts'
import { getPlatform } from '../../util/platform.ts'
import type { Terminal } from '../output/terminal.ts'
import data from './clients.json' with { type: 'json' }

/** MCP client: its settings files and their format. A row of clients.json. */
export interface ClientDefinition {
  readonly name: string
  readonly title: string
  /** True if it starts its servers without a shell's PATH. */
  readonly desktop?: boolean
  readonly format: 'json' | 'toml' | 'yaml'
  /** User settings by platform; `~` and `%APPDATA%` are expanded. */
  readonly user: Readonly<Record<string, string>>
  /** Files with higher precedence than the user settings, if they exist. */
  readonly overrides?: readonly string[]
  /** Variable with the user settings directory. */
  readonly home?: { readonly variable: string; readonly file: string }
  /** Project settings, relative to the project. */
  readonly project?: string
  /** Server list key path. */
  readonly key: readonly string[]
  /** True if the list is an array of maps with a `name`. */
  readonly list?: boolean
  /** Keys that a new settings file requires. */
  readonly base?: JsonObject
  /** Stdio server entry with the placeholders `$command`, `$args`, `$line` and `$name`. */
  readonly stdio: JsonObject
  /** Entry for a server at `$url`. */
  readonly http?: JsonObject
  /** Hint for the user. */
  readonly note?: string
  /** Client command that lists its servers. */
  readonly check?: string
  /** Client version, and the file or command with which this row was verified. */
  readonly checked: { readonly version: string; readonly against: string }
}

export const CLIENTS = data.clients as unknown as readonly ClientDefinition[]

/** Returns the user settings, or the project settings in the working directory. */
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
  { home, overrides = [], user }: ClientDefinition,
  environment: Terminal['environment'],
): string | undefined {
  const own = home === undefined ? undefined : environment[home.variable]
  if (home !== undefined && own) return join(own, home.file)
  const before = overrides.map(file => expandPath(file, environment)).find(file => file && existsSync(file))
  const path = user[getPlatform().name] ?? user.linux
  return before ?? (path === undefined ? undefined : expandPath(path, environment))
}

/** True if the settings file or its directory exists. */
export function isInstalled(client: ClientDefinition, terminal: Terminal): boolean {
  const file = findSettingsFile(client, 'user', terminal)
  if (file === undefined) return false
  const directory = dirname(file)
  return existsSync(file) || (directory !== terminal.environment['HOME'] && existsSync(directory))
}

function expandPath(path: string, environment: Terminal['environment']): string | undefined {
  const homeDirectory = environment['HOME'] ?? environment['USERPROFILE']
  let isKnown = true
  const filled = path
    .replace(/^~/, () => homeDirectory ?? ((isKnown = false), ''))
    .replace(/%(\w+)%/g, (_, name: string) => environment[name] ?? ((isKnown = false), ''))
  return isKnown ? filled : undefined
}
