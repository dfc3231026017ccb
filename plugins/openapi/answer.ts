import {
  type Answer,
  type JsonObject,
  oneLine,
  plainText,
  type UpstreamHttpReply,
  toolError,
  upstreamAnswer,
  jsonOf,
} from '../../src/plugin.ts'
import { isJsonType } from './document/parts.ts'
import { structured, type Tool } from './tools/tool.ts'

/** Most characters of a refusal that a model reads. */
const MAX_ERROR = 4000

const BINARY: Readonly<Record<string, string>> = { 'image/': 'image', 'audio/': 'audio' }

/** The answer of a call, from the reply to its request. */
export function answerOf(tool: Tool, reply: UpstreamHttpReply, hide: (text: string) => string): Answer {
  return reply.status < 300 ? upstreamAnswer(resultOf(tool, reply)) : refusalOf(reply, hide)
}

/** A result that says what went wrong, where the model reads it. */
export function failed(text: string): Answer {
  return upstreamAnswer(toolError(text))
}

function resultOf(tool: Tool, { body, status, contentType = '' }: UpstreamHttpReply): JsonObject {
  if (body.length === 0) return withStructure(tool, [text(`HTTP ${status}, without content`)], {})
  if (isJsonType(contentType) || contentType === '') {
    const value = jsonOf(body.toString('utf8'))
    if (value !== undefined)
      return { content: [text(body.toString('utf8'))], structuredContent: structured(value) }
  }
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return withStructure(tool, [contentOf(tool, type, body)], {})
}

/** A tool that promised a structure gives one. */
function withStructure(tool: Tool, content: readonly JsonObject[], value: JsonObject): JsonObject {
  return tool.hasOutputSchema ? { content, structuredContent: value } : { content }
}

function contentOf(tool: Tool, type: string, body: Buffer): JsonObject {
  const binary = Object.entries(BINARY).find(([start]) => type.startsWith(start))?.[1]
  if (binary !== undefined && type !== 'image/svg+xml')
    return { type: binary, data: body.toString('base64'), mimeType: oneLine(type).slice(0, 100) }
  const decoded = decodedText(type, body)
  if (decoded !== undefined) return text(decoded)
  const mimeType = type === '' ? 'application/octet-stream' : oneLine(type).slice(0, 100)
  const resource = { uri: `openapi:${tool.name}`, mimeType, blob: body.toString('base64') }
  return { type: 'resource', resource }
}

/** The text of a body that is one; undefined for bytes. */
function decodedText(type: string, body: Buffer): string | undefined {
  try {
    const decoded = new TextDecoder('utf-8', { fatal: true }).decode(body)
    return decoded.includes('\0') ? undefined : decoded
  } catch {
    return /^text\//.test(type) ? body.toString('latin1') : undefined
  }
}

function refusalOf(
  { status, body, retryAfterMs }: UpstreamHttpReply,
  hide: (text: string) => string,
): Answer {
  const said = plainText(hide(body.toString('utf8'))).trim()
  const isCut = said.length > MAX_ERROR
  const parts = [
    status < 400 ? `HTTP ${status}: it redirects, and redirects are not followed` : `HTTP ${status}`,
    retryAfterMs === undefined ? '' : `It can be asked again in ${Math.ceil(retryAfterMs / 1000)} s.`,
    isCut ? `${said.slice(0, MAX_ERROR)}…` : said,
  ]
  return failed(parts.filter(part => part !== '').join('\n'))
}

function text(words: string): JsonObject {
  return { type: 'text', text: words }
}
