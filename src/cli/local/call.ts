import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import type { Inspection, UpstreamStatus } from '../../api/gateway.ts'
import { RpcFailure } from '../../api/gateway.ts'
import type { DescribedConfig } from '../../config/index.ts'
import { gatewayError, GatewayError, getErrorMessage, extractServerMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { readText, readValue } from '../../util/plain-data.ts'
import { toOneLine, sanitizeText } from '../../util/plain-text.ts'
import { suggest } from '../../util/suggest.ts'
import { knownError } from '../output/report.ts'
import type { Output, Terminal } from '../output/terminal.ts'
import type { AskedGateway, AskFlags } from './ask-gateway.ts'
import { withAsked } from './ask-gateway.ts'
import { listAllTools } from './tools.ts'

/** Time until a call is slow enough to ask why, and between two looks. */
const LOOK_MS = 400

/**
 * Runs a call of a tool, and says on stderr, once, when it waits for somebody's approval, and how to give that: whoever
 * typed it may be the one who is waited for.
 */
async function withWaitingSaid<T>(
  tool: string,
  asked: AskedGateway,
  flags: AskFlags,
  { err }: Terminal,
  call: () => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const say = (rows: readonly JsonObject[]): void =>
    err.line(`${err.paint('yellow', 'waiting')} ${waitingText(rows, asked.isOwn, flags)}`)
  void look(tool, asked, say, over.signal)
  try {
    return await call()
  } finally {
    over.abort()
  }
}

/** Looks until the call waits or is over. Never rejects: a call is as good without it. */
async function look(
  tool: string,
  asked: AskedGateway,
  say: (rows: readonly JsonObject[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const since = Date.now()
  try {
    await pause(LOOK_MS, undefined, { signal })
    // A verb that a gateway has not would be a line of its audit.
    if (readValue((await asked.inspect()).config, 'approve') === undefined) return
    for (;;) {
      const { approvals } = await asked.control('approvals.list', {})
      if (signal.aborted) return
      const rows = Array.isArray(approvals) ? approvals.filter(isObject) : []
      const own = rows.filter(
        row => row['name'] === tool && Date.parse(readText(row, 'since') ?? '') >= since,
      )
      if (own.length > 0) return say(own)
      await pause(LOOK_MS, undefined, { signal })
    }
  } catch {
    // The call is over, or its gateway does not say.
  }
}

/** `for an approval (rule "money"): gateway approvals approve k3J9xQ2b7Zpw, or deny` */
function waitingText([row, ...others]: readonly JsonObject[], isOwn: boolean, flags: AskFlags): string {
  const text = `for an approval (rule "${toOneLine(readText(row, 'rule') ?? '')}")`
  if (isOwn)
    return `${text}, which gateway approvals cannot give in a gateway of this call alone: gateway up, then call again`
  const same = (['config', 'env', 'socket'] as const).flatMap(flag =>
    flags[flag] === undefined ? [] : [` --${flag} ${toOneLine(flags[flag])}`],
  )
  // Another call of the same tool began to wait at the same time.
  if (others.length > 0) return `${text}: gateway approvals list${same.join('')} shows it`
  return `${text}: gateway approvals approve ${toOneLine(readText(row, 'id') ?? '')}${same.join('')}, or deny`
}

/** The tool, or its server, said no. */
const SAID_NO = 5

const SAID_HINT = 'What it said is the answer of the server to this call.'

/** Calls a tool by the same pipeline as any client and gives back the raw result. */
export async function callTool(
  flags: AskFlags,
  name: string,
  given: GivenArguments,
  terminal: Terminal,
): Promise<JsonObject> {
  return withAsked(flags, terminal, async gateway => {
    const tools = await listAllTools(gateway)
    const since = Date.now()
    const tool = tools.find(entry => entry.name === name)
    try {
      // A name that is not listed may still be one that `routes` sends somewhere.
      const params = { name, arguments: buildArguments(given, tool?.inputSchema) }
      return await withWaitingSaid(name, gateway, flags, terminal, () =>
        gateway.request('tools/call', params),
      )
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error
      if (tool !== undefined) throw gateway.isOwn ? await withWords(error, name, since, gateway) : error
      const owner = missingOwner(name, await gateway.inspect())
      if (owner === undefined && error.message !== `Unknown tool: ${name}`) throw error
      const known = tools.map(entry => entry.name)
      throw noSuchTool(name, known, owner)
    }
  })
}

/** A refusal with what the server said: a gateway of the command's own has no log, and is gone before anybody looks at it. */
async function withWords(
  failure: RpcFailure,
  tool: string,
  since: number,
  gateway: AskedGateway,
): Promise<Error> {
  const { catalog, upstreams } = await gateway.inspect()
  const owner = catalog.find(({ kind, name }) => kind === 'tools' && name === tool)?.upstream
  const { lastError = '', lastErrorAt = 0 } = upstreams.find(({ name }) => name === owner)?.runtime ?? {}
  const detail = lastErrorAt < since ? undefined : extractServerMessage(lastError)
  if (detail === undefined) return failure
  const known = await knownError(failure, () => Promise.resolve([]))
  return new GatewayError(
    known.code,
    { why: known.message, detail },
    { ...known.entry, text: '{why}', hint: SAID_HINT },
  )
}

// The prefix tells whose tool it would have been.
function missingOwner(
  name: string,
  { config, upstreams }: Inspection & DescribedConfig,
): UpstreamStatus | undefined {
  return upstreams.find(({ name: upstream, state }) => {
    const prefix = readText(config, 'upstreams', upstream, 'prefix') ?? `${upstream}__`
    return state !== 'ready' && name.startsWith(prefix)
  })
}

function noSuchTool(tool: string, known: readonly string[], owner: UpstreamStatus | undefined): GatewayError {
  if (owner?.state === 'stopped') return gatewayError('GW_UPSTREAM_STOPPED', { upstream: owner.name })
  if (owner !== undefined) {
    const code = owner.state === 'needs_auth' ? 'GW_UPSTREAM_LOGIN' : 'GW_UPSTREAM_START'
    return gatewayError(code, { upstream: owner.name, why: owner.problem ?? `it is ${owner.state}` })
  }
  const found = suggest(tool, known)
  const meant = found === undefined ? '' : ` – did you mean "${found}"?`
  return gatewayError('GW_TOOL_UNKNOWN', { tool, meant })
}

/** Arguments as they were given, before the tool's schema is known. */
export interface GivenArguments {
  readonly whole: JsonObject
  readonly pairs: readonly (readonly [key: string, value: string])[]
}

interface ArgumentSource {
  /** `-` reads stdin. */
  readonly json: string | undefined
  readonly pairs: readonly string[]
  readonly stdin: Readable
}

/** Reads `--args` and KEY=VALUE. */
export async function readArguments({ json, pairs, stdin }: ArgumentSource): Promise<GivenArguments> {
  const source = json === '-' ? await text(stdin) : json
  return { whole: source === undefined ? {} : parsed(source), pairs: pairs.map(pair) }
}

/** The arguments for the tool: a value is text where its schema says so, else JSON if it is JSON. */
export function buildArguments({ whole, pairs }: GivenArguments, schema: JsonObject | undefined): JsonObject {
  const properties = isObject(schema?.['properties']) ? schema['properties'] : {}
  const values = pairs.map(
    ([key, value]) => [key, wantsText(properties[key]) ? value : jsonOrText(value)] as const,
  )
  return { ...whole, ...Object.fromEntries(values) }
}

function parsed(source: string): JsonObject {
  const value = parse(source)
  if (!isObject(value)) throw gatewayError('GW_USAGE', { what: '--args must be a JSON object' })
  return value
}

function parse(source: string): unknown {
  try {
    return JSON.parse(source)
  } catch (thrown) {
    throw gatewayError('GW_USAGE', { what: `--args is not JSON: ${getErrorMessage(thrown)}` })
  }
}

function pair(given: string): readonly [string, string] {
  const at = given.indexOf('=')
  if (at < 1) throw gatewayError('GW_USAGE', { what: `"${given}" is not KEY=VALUE` })
  return [given.slice(0, at), given.slice(at + 1)]
}

function wantsText(property: unknown): boolean {
  if (!isObject(property)) return false
  const { type, enum: options } = property
  return type === 'string' || (Array.isArray(options) && options.every(option => typeof option === 'string'))
}

function jsonOrText(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** 0, or 5 where the result says that the tool failed. */
export function exitCode(result: JsonObject): number {
  return result['isError'] === true ? SAID_NO : 0
}

/** A result as people read it: its text as it is, everything else as a note of what it is. */
export function resultLines(result: JsonObject, output: Output): string[] {
  const content = Array.isArray(result['content']) ? result['content'].filter(isObject) : []
  const lines = content.map(block => contentText(block, output))
  if (lines.length > 0) return lines
  const rest = result['structuredContent'] ?? result
  return [shown(JSON.stringify(rest, undefined, 2), output)]
}

function contentText(block: JsonObject, output: Output): string {
  const note = (text: string): string => output.paint('dim', `[${sanitizeText(text)}]`)
  const resource = isObject(block['resource']) ? block['resource'] : {}
  switch (block['type']) {
    case 'text':
      return shown(String(block['text']), output)
    case 'image':
    case 'audio':
      return note(`${block['type']} ${formatValue(block['mimeType'])}, ${measureBase64(block['data'])}`)
    case 'resource':
      return typeof resource['text'] === 'string'
        ? shown(resource['text'], output)
        : note(
            `resource ${formatValue(resource['uri'])} ${formatValue(resource['mimeType'])}, ${measureBase64(resource['blob'])}`,
          )
    case 'resource_link':
      return note(`resource ${formatValue(block['uri'])} ${formatValue(block['name'])}`)
    default:
      return shown(JSON.stringify(block, undefined, 2), output)
  }
}

// A file or the next program gets what was sent, a terminal only what cannot harm it.
function shown(text: string, output: Output): string {
  return output.width === undefined ? text : sanitizeText(text)
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function measureBase64(base64: unknown): string {
  const bytes = Math.floor((formatValue(base64).length * 3) / 4)
  return bytes < 1024 ? `${bytes} B` : `${Math.round(bytes / 1024)} KiB`
}
