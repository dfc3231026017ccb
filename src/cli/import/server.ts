import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { Inputs, Placeholders, Timeout } from './formats.ts'
import { escape, REWRITES } from './tokens.ts'

/** One server of a client as one of our upstreams, or why it cannot be one. */
type Converted = { readonly upstream: JsonObject } | { readonly why: string }

/** Carries a key of a client's entry over. Returns false when it could not; parts of it that it could not are added to `lost`. */
type Carry = (value: unknown, into: Draft, lost: string[]) => boolean | void

interface Draft {
  readonly spec: JsonObject
  readonly tools: { allow?: unknown; deny?: unknown }
  type: string | undefined
  readonly directory: string
}

/** Receives notes on what becomes of an entry. */
interface Listening {
  /** Notes what could not be carried over. */
  note(text: string): void
  /** A key that is the client's own business. */
  leave(key: string): void
}

/** Form in which a client writes an entry. */
interface Writing {
  readonly placeholders: Placeholders
  readonly timeout: Timeout
  readonly inputs: Inputs
  /** Directory of the project, which paths of an entry are relative to. */
  readonly directory: string
}

/** Turns a client's entry into an upstream. */
export function convert(server: JsonObject, writing: Writing, { note, leave }: Listening): Converted {
  const draft: Draft = { spec: {}, tools: {}, type: undefined, directory: writing.directory }
  const lost: string[] = []
  const notes: string[] = []
  for (const [key, value] of Object.entries(flattened(server, lost))) {
    const ofKey: string[] = []
    const carry = key === 'timeout' ? TIMEOUTS[writing.timeout] : KEYS.get(key)
    const filling = {
      inputs: writing.inputs,
      note: (text: string) => void ofKey.push(text),
      disable: () => carry && (draft.spec.enabled = false),
    }
    const rewritten = rewrite(value, text => REWRITES[writing.placeholders](text, filling))
    const isCarried = carry !== undefined && carry(rewritten, draft, lost) !== false
    if (isCarried) notes.push(...ofKey)
    else if (MEANINGLESS.has(key)) leave(key)
    else lost.push(key)
  }
  const converted = finished(draft, text => void notes.push(text))
  // Of one that is left out as a whole nothing else needs to be said.
  if (!('upstream' in converted)) return converted
  for (const text of notes) note(text)
  for (const key of lost) note(`"${key}" has no counterpart and was left out`)
  return converted
}

function finished({ spec, tools, type }: Draft, note: (text: string) => void): Converted {
  const { command, url, ...rest } = spec
  const filter = Object.keys(tools).length > 0 ? { tools } : {}
  if (typeof url === 'string') {
    const remote = without(rest, LOCAL, 'a server with a URL', note)
    if (command !== undefined) note('"command" is not for a server with a URL and was left out')
    if (!isReachable(url)) {
      note(`${url} is no URL of a server that a gateway reaches: write another one, and take out "enabled"`)
      return { upstream: { type: type ?? 'http', url: NOWHERE, ...remote, enabled: false, ...filter } }
    }
    return { upstream: { type: type ?? typeOf(url), url, ...remote, ...filter } }
  }
  if (typeof command !== 'string') return { why: 'it has neither a command nor a URL' }
  if (type !== undefined)
    note(`"type" is ${type}, which is not for a server with a command, and was left out`)
  const local = without(rest, REMOTE, 'a server with a command', note)
  return { upstream: { type: 'stdio', command, ...withOwnVariables(local), ...filter } }
}

/**
 * A server that fills in its arguments itself, from variables that its entry gives it, gets them as they are. What the
 * client has under the same name goes through either way.
 */
function withOwnVariables(spec: JsonObject): JsonObject {
  const { args, env } = spec
  if (!Array.isArray(args) || !isObject(env)) return spec
  const isOwn = (name: string): boolean => Object.hasOwn(env, name) && env[name] !== `\${${name}}`
  const kept = args.map(arg =>
    String(arg).replace(/(?<!\$)\$\{(\w+)\}/g, (whole, name: string) => (isOwn(name) ? `$${whole}` : whole)),
  )
  return { ...spec, args: kept }
}

/** Stands for the address of a server that is switched off. */
const NOWHERE = 'http://localhost'

/** True for an address of a transport of ours, or one that begins with a variable. */
function isReachable(url: string): boolean {
  const isKnown = /^((https?|wss?):\/\/|\$\{)/i.test(url) && !url.includes('$${')
  return isKnown && !/\s/.test(url.replace(/\$\{[^}]*\}/g, 'x'))
}

const LOCAL: readonly string[] = ['args', 'env', 'cwd']
const REMOTE: readonly string[] = ['headers']

function without(
  spec: JsonObject,
  keys: readonly string[],
  what: string,
  note: (text: string) => void,
): JsonObject {
  for (const key of keys) if (spec[key] !== undefined) note(`"${key}" is not for ${what} and was left out`)
  return Object.fromEntries(Object.entries(spec).filter(([key]) => !keys.includes(key)))
}

/** An address says how it is spoken to where nothing else does. */
function typeOf(url: string): string {
  if (/^wss?:/.test(url)) return 'ws'
  return /\/sse\/?(\?|$)/.test(url) ? 'sse' : 'http'
}

/** Zed keeps a command in a map of its own, Continue a transport. */
function flattened(server: JsonObject, lost: string[]): JsonObject {
  const { command, transport, ...rest } = server
  if (isObject(command)) {
    const { path, ...more } = command
    return over(transport === undefined ? rest : { ...rest, transport }, { ...more, command: path }, lost)
  }
  return isObject(transport)
    ? over(command === undefined ? rest : { ...rest, command }, transport, lost)
    : server
}

/** Both in one; a key that both have is that of the inner map, and maps are joined. */
function over(outer: JsonObject, inner: JsonObject, lost: string[]): JsonObject {
  const joined = { ...outer }
  for (const [key, value] of Object.entries(inner)) {
    const own = outer[key]
    if (isObject(own) && isObject(value)) joined[key] = { ...own, ...value }
    else {
      if (own !== undefined && JSON.stringify(own) !== JSON.stringify(value)) lost.push(key)
      joined[key] = value
    }
  }
  return joined
}

function rewrite(value: unknown, text: (text: string) => string): unknown {
  if (typeof value === 'string') return text(value)
  if (Array.isArray(value)) return value.map(item => rewrite(item, text))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rewrite(item, text)]))
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['http', 'http'],
  ['streamable-http', 'http'],
  ['streamablehttp', 'http'],
  ['streamable_http', 'http'],
  ['sse', 'sse'],
  ['ws', 'ws'],
  ['websocket', 'ws'],
])

/** Types that a command or a URL says already. */
const PLAIN_TYPES: ReadonlySet<string> = new Set(['stdio', 'local', 'remote'])

/** Says how to speak to it, or nothing of use to us. */
function ofType(value: unknown, into: Draft): boolean {
  if (typeof value !== 'string') return false
  into.type = TYPES.get(value.toLowerCase())
  return into.type !== undefined || PLAIN_TYPES.has(value.toLowerCase())
}

function ofCommand(value: unknown, { spec }: Draft): boolean {
  const [command, ...args] = Array.isArray(value) ? value.map(String) : [value]
  if (typeof command !== 'string') return false
  spec.command = command
  if (args.length > 0) spec.args = [...args, ...((spec.args as string[] | undefined) ?? [])]
  return true
}

/** Arguments of their own stand behind those of a command that is a list; a text is one that nobody can split. */
function ofArguments(value: unknown, { spec }: Draft): boolean {
  if (value === undefined || value === null) return true
  if (!Array.isArray(value) || value.some(item => typeof item === 'object')) return false
  if (value.length > 0) spec.args = [...((spec.args as string[] | undefined) ?? []), ...value.map(String)]
  return true
}

function to(key: string): Carry {
  return (value, { spec }, lost) => {
    if (value === undefined || value === null || isEmpty(value)) return true
    if (MAPS.has(key)) return isObject(value) && ofMap(key, value, spec, lost)
    if (typeof value !== 'string' || (spec[key] ?? value) !== value) return false
    spec[key] = value
    return true
  }
}

/** Carries texts over; a null and a map are none. */
function ofMap(key: string, value: JsonObject, spec: JsonObject, lost: string[]): true {
  const flat = Object.entries(value).filter(([name, item]) => {
    if (typeof item === 'object') lost.push(`${key}.${name}`)
    return typeof item !== 'object'
  })
  if (flat.length > 0)
    spec[key] = { ...(spec[key] as JsonObject | undefined), ...texts(Object.fromEntries(flat)) }
  return true
}

const MAPS: ReadonlySet<string> = new Set(['env', 'headers'])

/** Numbers and booleans are texts in an environment. */
function texts(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, String(item)]))
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function header(name: string, value: string, { spec }: Draft): void {
  spec.headers = { ...(spec.headers as JsonObject | undefined), [name]: value }
}

/** Headers that are named one by one. */
function createHeadersReader(write: (value: string) => string | undefined): Carry {
  return (value, into, lost) => {
    if (!isObject(value)) return false
    for (const [name, item] of Object.entries(value)) {
      const text = typeof item === 'object' ? undefined : write(String(item))
      if (text === undefined) lost.push(`headers.${name}`)
      else header(name, text, into)
    }
    return true
  }
}

/** A name of a variable is nothing that a placeholder runs or reads. */
function isVariable(name: unknown): name is string {
  return typeof name === 'string' && /^[A-Za-z_]\w*$/.test(name)
}

/** A file of variables is read once, now; those of the entry itself win. */
function ofEnvFile(value: unknown, { spec, directory }: Draft, lost: string[]): boolean {
  if (typeof value !== 'string' || value.includes('${')) return false
  const file = resolve(directory, value)
  try {
    if (statSync(file).size > MAX_ENV_FILE_BYTES) return false
    const variables = Object.entries(parseEnv(readFileSync(file, 'utf8')))
    const read = Object.fromEntries(variables.map(([name, text]) => [name, escape(text ?? '')]))
    return ofMap('env', { ...read, ...(spec.env as JsonObject | undefined) }, spec, lost)
  } catch {
    return false
  }
}

const MAX_ENV_FILE_BYTES = 64 * 1024

/** Variables of the client's own environment that the server gets, by name. */
function inherited(value: unknown, { spec }: Draft): boolean {
  if (!Array.isArray(value) || !value.every(isVariable)) return false
  const filled = Object.fromEntries(value.map(name => [name, `\${${name}}`]))
  spec.env = { ...filled, ...(spec.env as JsonObject | undefined) }
  return true
}

/** Continue keeps headers among the options of its requests. */
function requestOptions(value: unknown, into: Draft, lost: string[]): boolean {
  if (!isObject(value) || Object.keys(value).some(key => key !== 'headers')) return false
  return createHeadersReader(text => text)(value.headers, into, lost) !== false
}

function milliseconds(key: string): Carry {
  return (value, { spec }) => typeof value === 'number' && value > 0 && void (spec[key] = Math.ceil(value))
}

function seconds(key: string): Carry {
  return (value, { spec }) =>
    typeof value === 'number' && value > 0 && void (spec[key] = `${Math.ceil(value)}s`)
}

const TIMEOUTS: Readonly<Record<Timeout, Carry>> = {
  seconds: seconds('timeout'),
  milliseconds: milliseconds('timeout'),
  'seconds to start': seconds('startupTimeout'),
  // Most clients count milliseconds; who counts seconds has small numbers.
  either: (value, into, lost) =>
    (Number(value) < 1000 ? seconds('timeout') : milliseconds('timeout'))(value, into, lost),
}

function enabledWhen(expected: boolean): Carry {
  return (value, { spec }) => {
    if (typeof value !== 'boolean') return false
    if (value !== expected) spec.enabled = false
    return true
  }
}

function filter(key: 'allow' | 'deny'): Carry {
  return (value, { tools }) => {
    if (!Array.isArray(value)) return false
    if (key === 'deny' || !value.includes('*')) tools[key] = value.map(String)
    return true
  }
}

const KEYS: ReadonlyMap<string, Carry> = new Map<string, Carry>([
  ['type', ofType],
  ['transport', ofType],
  ['transportType', ofType],
  ['command', ofCommand],
  ['cmd', ofCommand],
  ['args', ofArguments],
  ['env', to('env')],
  ['envs', to('env')],
  ['envFile', ofEnvFile],
  ['environment', to('env')],
  ['cwd', to('cwd')],
  ['workingDirectory', to('cwd')],
  ['working_directory', to('cwd')],
  ['url', to('url')],
  ['uri', to('url')],
  ['serverUrl', to('url')],
  ['server_url', to('url')],
  ['httpUrl', to('url')],
  ['headers', to('headers')],
  ['http_headers', to('headers')],
  [
    'bearer_token_env_var',
    (value, into) => isVariable(value) && header('Authorization', `Bearer \${${value}}`, into),
  ],
  ['bearer_token', (value, into) => header('Authorization', `Bearer ${String(value)}`, into)],
  [
    'env_http_headers',
    createHeadersReader(variable => (isVariable(variable) ? `\${${variable}}` : undefined)),
  ],
  ['requestOptions', requestOptions],
  ['env_vars', inherited],
  ['env_keys', inherited],
  ['startup_timeout_ms', milliseconds('startupTimeout')],
  ['initTimeout', milliseconds('startupTimeout')],
  ['connectionTimeout', milliseconds('startupTimeout')],
  ['startup_timeout_sec', seconds('startupTimeout')],
  ['tool_timeout_sec', seconds('timeout')],
  ['enabled', enabledWhen(true)],
  ['disabled', enabledWhen(false)],
  ['enabled_tools', filter('allow')],
  ['includeTools', filter('allow')],
  ['enabledTools', filter('allow')],
  ['allowedTools', filter('allow')],
  ['available_tools', filter('allow')],
  ['tools', filter('allow')],
  ['disabled_tools', filter('deny')],
  ['excludeTools', filter('deny')],
  ['disabledTools', filter('deny')],
])

/** Of no use to a gateway, and no loss: names, texts for people, what the client permits itself. */
const MEANINGLESS: ReadonlySet<string> = new Set([
  'name',
  'description',
  'display_name',
  'source',
  'bundled',
  'trust',
  'autoApprove',
  'auto_approve',
  'alwaysAllow',
  'always_allow',
  'displayName',
  'title',
  'icon',
  'iconPath',
  'version',
  'gallery',
  'chatMenu',
  'default_tools_approval_mode',
])
