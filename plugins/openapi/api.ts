import { isIP } from 'node:net'
import { compileGlobs, getErrorMessage, Payload, sanitizeText, readText } from '../../src/plugin.ts'
import type { ApiDocument, Operation } from './document/operation-parts.ts'
import { nameOperations } from './document/operation-parts.ts'
import { readDocument } from './document/read-document.ts'
import type { OpenApiSpec } from './load-document.ts'
import { parseDocumentUrl } from './load-document.ts'
import type { OpenApiTool } from './tools/tool.ts'
import { createTool } from './tools/tool.ts'

/** Domains that are not public. */
const PRIVATE =
  /(^|\.)(localhost|local|internal|intranet|lan|corp|home|home\.arpa|localdomain|test|invalid|example|onion)$/i

interface DocumentOrigin {
  /** Undefined for a file. */
  readonly url: URL | undefined
  /** Configured server. */
  readonly server: string | undefined
}

/**
 * Resolves the base URL. Credentials are sent there, so a document may only name its own origin or, if it is a file,
 * a public https server.
 * @throws Error that asks for `server`
 */
function resolveServer(servers: unknown, { url, server }: DocumentOrigin): URL {
  if (server !== undefined) return new URL(server)
  const named = parseFirstServer(servers, url)
  if (named === undefined) throw new Error('the document declares no server; set "server"')
  if (url !== undefined && named.origin !== url.origin)
    throw new Error(
      `the document declares a server of another origin, ${named.origin}; set "server" to the URL to call`,
    )
  if (url === undefined && !isPublic(named))
    throw new Error(`the document declares ${named.origin}, which is not a public https server; set "server"`)
  return named
}

/** Resolves an operation's base path; undefined if its server has another origin. */
function resolveBasePath(servers: unknown, base: URL, { url, server }: DocumentOrigin): string | undefined {
  // A configured server applies to all operations.
  if (server !== undefined || servers === undefined) return base.pathname
  const named = parseFirstServer(servers, url ?? base)
  return named?.origin === base.origin ? named.pathname : undefined
}

function parseFirstServer(servers: unknown, relativeTo: URL | undefined): URL | undefined {
  const [first] = Array.isArray(servers) ? (servers as unknown[]) : []
  const template = readText(first, 'url') ?? (relativeTo === undefined ? undefined : '/')
  if (template === undefined) return undefined
  const written = template.replace(
    /\{([^{}]+)\}/g,
    (_all, name: string) => readText(first, 'variables', name, 'default') ?? '',
  )
  const named = URL.parse(written, relativeTo?.href)
  if (named === null || !/^https?:$/.test(named.protocol) || named.username !== '') return undefined
  return named
}

function isPublic({ protocol, hostname }: URL): boolean {
  const name = hostname.replace(/\.$/, '')
  return protocol === 'https:' && name.includes('.') && isIP(name) === 0 && !name.startsWith('[') && !PRIVATE.test(name)
}

/** A parsed API. */
export interface Api {
  readonly document: ApiDocument
  readonly server: URL
  readonly tools: ReadonlyMap<string, OpenApiTool>
  readonly list: Payload
  /** Operations that cannot be tools, with the reason. */
  readonly skipped: readonly string[]
  readonly instructions: string | undefined
}

/** Maximum tool name length that all clients accept, including the prefix. */
const MAX_NAME = 64
const MIN_NAME = 16
/** Yield to the event loop after this time. */
const YIELD_AFTER_MS = 10
const MAX_INSTRUCTIONS = 1000

/** Creates tools from a document. @throws Error with the reason why the document is unusable */
export async function createApi(spec: OpenApiSpec, name: string, data: unknown): Promise<Api> {
  const document = readDocument(data)
  const origin = { url: parseDocumentUrl(spec), server: spec.server }
  const server = resolveServer(document.servers, origin)
  const prefix = spec.prefix ?? `${name}__`
  const names = nameOperations(document.operations, Math.max(MIN_NAME, MAX_NAME - prefix.length))
  const isWanted = compileFilter(spec)
  const tools = new Map<string, OpenApiTool>()
  const skipped = [...document.skipped]
  const addTool = (operation: Operation, tool: string): void => {
    const basePath = resolveBasePath(operation.servers, server, origin)
    if (basePath === undefined) throw new Error('it has a different server; set "server" for all operations')
    if (tools.has(tool)) throw new Error('duplicate tool name')
    tools.set(tool, createTool(operation, document, { name: tool, basePath, hasOutput: spec.outputSchemas }))
  }
  let since = performance.now()
  for (const [operation, tool] of names) {
    if (!isWanted(operation, tool)) continue
    if (performance.now() - since > YIELD_AFTER_MS) {
      await new Promise(resolve => setImmediate(resolve))
      since = performance.now()
    }
    try {
      addTool(operation, tool)
    } catch (error) {
      skipped.push(`${operation.method} ${operation.path}: ${getErrorMessage(error)}`)
    }
  }
  const listed = [...tools.values()].map(tool => tool.definition)
  const list = { resultType: 'complete', tools: listed, ttlMs: 300_000, cacheScope: 'public' }
  return {
    ...{ document, server, tools, skipped },
    list: Payload.of(list, 'modern'),
    instructions: formatInstructions(document),
  }
}

function compileFilter({ operations = {} }: OpenApiSpec): (operation: Operation, name: string) => boolean {
  const { allow, deny = [], tags } = operations
  const isAllowed = allow === undefined ? () => true : compileGlobs(allow)
  const isDenied = compileGlobs(deny)
  return (operation, name) => {
    const texts = [name, operation.id ?? name, `${operation.method} ${operation.path}`]
    if (tags !== undefined && !operation.tags.some(tag => tags.includes(tag))) return false
    return texts.some(isAllowed) && !texts.some(isDenied)
  }
}

function formatInstructions({ title, description }: ApiDocument): string | undefined {
  if (description === undefined) return undefined
  return `${title}: ${sanitizeText(description)}`.slice(0, MAX_INSTRUCTIONS)
}
