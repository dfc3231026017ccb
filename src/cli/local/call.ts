import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Inspection, UpstreamStatus } from '../../api/gateway.ts'
import { RpcFailure } from '../../api/gateway.ts'
import type { DescribedConfig } from '../../config/index.ts'
import type { GatewayError } from '../../errors/errors.ts'
import { gatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { readText } from '../../util/plain-data.ts'
import { sanitizeText } from '../../util/plain-text.ts'
import { findSimilar } from '../../util/suggest.ts'
import type { TerminalOutput, Terminal } from '../output/terminal.ts'
import type { GatewayHandle, QueryFlags } from './gateway-handle.ts'
import { withGatewayHandle } from './gateway-handle.ts'
import type { ToolEntry, ToolParameter } from './tools.ts'
import { explainRefusal, formatExplainCommand, listAllTools, listParameters } from './tools.ts'

/** Time before a call that does not end is explained. */
const WAITING_MS = 2000

/** Calls a tool. If it takes long, prints how to find out whether it waits for an approval. */
async function callWithNotice<T>(gateway: GatewayHandle, { err }: Terminal, call: () => Promise<T>): Promise<T> {
  const hint = gateway.isOwn
    ? 'a temporary gateway cannot ask for approvals: run gateway up first'
    : 'see gateway approvals list'
  const notice = setTimeout(
    () => err.line(`${err.paint('yellow', 'waiting')} for the tool, or for an approval: ${hint}`),
    WAITING_MS,
  )
  try {
    return await call()
  } finally {
    clearTimeout(notice)
  }
}

/** Exit code if the tool or its server returned an error. */
const TOOL_ERROR_EXIT_CODE = 8

/** Calls a tool through the pipeline and returns the raw result. */
export async function callTool(
  flags: QueryFlags,
  name: string,
  toolArguments: ToolArguments,
  terminal: Terminal,
): Promise<JsonObject> {
  return withGatewayHandle(flags, terminal, async gateway => {
    const tools = await listAllTools(gateway)
    const tool = tools.find(entry => entry.name === name)
    // An unlisted name may still match `routes`.
    const params = { name, arguments: buildArguments(toolArguments, tool?.inputSchema) }
    if (tool !== undefined) checkMissingArguments(tool, params.arguments)
    try {
      return await callWithNotice(gateway, terminal, () => gateway.request('tools/call', params))
    } catch (error) {
      if (!(error instanceof RpcFailure) || tool !== undefined) throw error
      const { as } = flags
      const refusal = await explainRefusal(gateway, name, as)
      if (refusal !== undefined)
        throw gatewayError('GW_TOOL_HIDDEN', {
          ...{ tool: name, by: refusal.by, caller: as ?? 'anonymous', why: refusal.text },
          command: formatExplainCommand(name, as),
        })
      const toolNames = tools.map(entry => entry.name)
      const owner = findMissingOwner(name, toolNames, await gateway.inspect())
      if (owner === undefined && error.message !== `Unknown tool: ${name}`) throw error
      throw createUnknownToolError(name, toolNames, owner)
    }
  })
}

function checkMissingArguments({ name, inputSchema = {} }: ToolEntry, given: JsonObject): void {
  const parameters = listParameters(inputSchema)
  const missing = parameters.filter(parameter => parameter.isRequired && given[parameter.name] === undefined)
  if (missing.length === 0) return
  const usage = ['gateway call', name, ...parameters.map(formatParameter)].join(' ')
  const names = missing.map(parameter => parameter.name).join(', ')
  throw gatewayError('GW_USAGE', { what: `missing: ${names}\n  usage: ${usage}` })
}

function formatParameter({ name, type, isRequired }: ToolParameter): string {
  return isRequired ? `${name}=<${type}>` : `[${name}=<${type}>]`
}

// The prefix identifies the upstream; one with a known list has no such tool.
function findMissingOwner(
  name: string,
  toolNames: readonly string[],
  { config, upstreams }: Inspection & DescribedConfig,
): UpstreamStatus | undefined {
  return upstreams.find(({ name: upstream, state }) => {
    const prefix = readText(config, 'upstreams', upstream, 'prefix') ?? `${upstream}__`
    const isMissing = state !== 'ready' && !toolNames.some(toolName => toolName.startsWith(prefix))
    return isMissing && name.startsWith(prefix)
  })
}

function createUnknownToolError(
  tool: string,
  toolNames: readonly string[],
  owner: UpstreamStatus | undefined,
): GatewayError {
  if (owner?.state === 'stopped') return gatewayError('GW_UPSTREAM_STOPPED', { upstream: owner.name })
  if (owner !== undefined) {
    const code = owner.state === 'needs_auth' ? 'GW_UPSTREAM_LOGIN' : 'GW_UPSTREAM_START'
    return gatewayError(code, { upstream: owner.name, why: owner.problem ?? `its state is ${owner.state}` })
  }
  const similar = findSimilar(tool, toolNames)
  const suggestion = similar === undefined ? '' : ` – did you mean "${similar}"?`
  return gatewayError('GW_TOOL_UNKNOWN', { tool, meant: suggestion })
}

/** Arguments before they are matched to the schema. */
export interface ToolArguments {
  readonly jsonArguments: JsonObject
  readonly pairs: readonly (readonly [key: string, value: string])[]
}

interface ArgumentSource {
  /** `-` reads stdin. */
  readonly json: string | undefined
  readonly pairs: readonly string[]
  readonly stdin: Readable
}

/** Reads `--args` and KEY=VALUE. */
export async function readArguments({ json, pairs, stdin }: ArgumentSource): Promise<ToolArguments> {
  const source = json === '-' ? await text(stdin) : json
  return { jsonArguments: source === undefined ? {} : parseJsonObject(source), pairs: pairs.map(parsePair) }
}

/** Creates tool arguments: text if the schema requires a string, else JSON if valid. */
export function buildArguments({ jsonArguments, pairs }: ToolArguments, schema: JsonObject | undefined): JsonObject {
  const properties = isObject(schema?.['properties']) ? schema['properties'] : {}
  const values = pairs.map(
    ([key, value]) => [key, isTextProperty(properties[key]) ? value : parseJsonOrText(value)] as const,
  )
  return { ...jsonArguments, ...Object.fromEntries(values) }
}

function parseJsonObject(source: string): JsonObject {
  const value = parseJsonText(source)
  if (!isObject(value)) throw gatewayError('GW_USAGE', { what: '--args must be a JSON object' })
  return value
}

function parseJsonText(source: string): unknown {
  try {
    return JSON.parse(source)
  } catch (thrown) {
    throw gatewayError('GW_USAGE', { what: `--args is not valid JSON: ${getErrorMessage(thrown)}` })
  }
}

function parsePair(pair: string): readonly [string, string] {
  const at = pair.indexOf('=')
  if (at < 1) throw gatewayError('GW_USAGE', { what: `"${pair}" is not KEY=VALUE` })
  return [pair.slice(0, at), pair.slice(at + 1)]
}

function isTextProperty(property: unknown): boolean {
  if (!isObject(property)) return false
  const { type, enum: options } = property
  return type === 'string' || (Array.isArray(options) && options.every(option => typeof option === 'string'))
}

function parseJsonOrText(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** Returns 8 if the tool failed, else 0. */
export function getExitCode(result: JsonObject): number {
  return result['isError'] === true ? TOOL_ERROR_EXIT_CODE : 0
}

/** Formats text as it is, and other content as a short description. */
export function formatResult(result: JsonObject, output: TerminalOutput): string[] {
  const content = Array.isArray(result['content']) ? result['content'].filter(isObject) : []
  const lines = content.map(block => formatContent(block, output))
  if (lines.length > 0) return lines
  const value = result['structuredContent'] ?? result
  return [sanitizeForTerminal(JSON.stringify(value, undefined, 2), output)]
}

function formatContent(block: JsonObject, output: TerminalOutput): string {
  const formatNote = (text: string): string => output.paint('dim', `[${sanitizeText(text)}]`)
  const resource = isObject(block['resource']) ? block['resource'] : {}
  switch (block['type']) {
    case 'text':
      return sanitizeForTerminal(String(block['text']), output)
    case 'image':
    case 'audio':
      return formatNote(`${block['type']} ${formatValue(block['mimeType'])}, ${measureBase64(block['data'])}`)
    case 'resource':
      return typeof resource['text'] === 'string'
        ? sanitizeForTerminal(resource['text'], output)
        : formatNote(
            `resource ${formatValue(resource['uri'])} ${formatValue(resource['mimeType'])}, ${measureBase64(resource['blob'])}`,
          )
    case 'resource_link':
      return formatNote(`resource ${formatValue(block['uri'])} ${formatValue(block['name'])}`)
    default:
      return sanitizeForTerminal(JSON.stringify(block, undefined, 2), output)
  }
}

// Sanitize only for a terminal; pipes get the original text.
function sanitizeForTerminal(text: string, output: TerminalOutput): string {
  return output.width === undefined ? text : sanitizeText(text)
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function measureBase64(base64: unknown): string {
  const bytes = Math.floor((formatValue(base64).length * 3) / 4)
  return bytes < 1024 ? `${bytes} B` : `${Math.round(bytes / 1024)} KiB`
}
