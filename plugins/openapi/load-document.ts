import { constants, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { PluginApi, UpstreamConfig } from '../../src/plugin.ts'
import { defineErrors, parseDuration, parseSize, RPC } from '../../src/plugin.ts'

export const ERRORS = {
  GW_OPENAPI_DOCUMENT: {
    text: 'OpenAPI document {document} is unusable: {why}',
    hint: 'Check "document" and "server" of this upstream; "gateway restart" loads the document again.',
    exit: 4,
    rpc: RPC.internal,
  },
} as const

export const openApiError = defineErrors(ERRORS)

/** Parsing YAML is slow and blocks the event loop. */
const MAX_YAML = 4 * 1024 * 1024

export type SourceDeps = Pick<PluginApi, 'fetch' | 'parseYaml' | 'directory'>

/** Undefined for a file. */
export function parseDocumentUrl({ document }: Pick<OpenApiSpec, 'document'>): URL | undefined {
  return /^https?:\/\//i.test(document) ? (URL.parse(document) ?? undefined) : undefined
}

/** Reads a document as plain data. @throws Error with the reason */
export async function readSource(spec: OpenApiSpec, reading: SourceDeps): Promise<unknown> {
  const url = parseDocumentUrl(spec)
  const read = url === undefined ? await readDocumentFile(spec, reading) : await fetchDocument(url, spec, reading)
  const text = read.replace(/^\uFEFF/, '')
  if (/^\s*\{/.test(text.slice(0, 1000))) return JSON.parse(text) as unknown
  if (text.length > MAX_YAML)
    throw new Error(`YAML documents are limited to ${MAX_YAML} characters; convert it to JSON`)
  return reading.parseYaml(text)
}

async function readDocumentFile(spec: OpenApiSpec, { directory }: SourceDeps): Promise<string> {
  // Opening a FIFO would block until there is a writer.
  const handle = await open(resolve(directory, spec.document), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = await handle.stat()
    const limit = parseSize(spec.maxDocument)
    if (!stats.isFile()) throw new Error('not a file')
    if (stats.size > limit) throw createTooLargeError(limit)
    const text = await handle.readFile('utf8')
    if (text.length > limit) throw createTooLargeError(limit)
    return text
  } finally {
    await handle.close()
  }
}

async function fetchDocument(url: URL, spec: OpenApiSpec, { fetch }: SourceDeps): Promise<string> {
  const maxBytes = parseSize(spec.maxDocument)
  const reply = await fetch(url, { namedBy: url, maxBytes, timeoutMs: parseDuration(spec.startupTimeout) })
  if (!reply.ok) throw new Error(`HTTP ${reply.status}`)
  return reply.text()
}

function createTooLargeError(limit: number): Error {
  return new Error(`larger than ${limit} bytes; increase "maxDocument"`)
}

/** Returns a text that changes with the file; undefined if the document is no file or is missing. */
export function readFileStamp(spec: OpenApiSpec, directory: string): string | undefined {
  if (parseDocumentUrl(spec) !== undefined) return undefined
  const stats = statSync(resolve(directory, spec.document), { throwIfNoEntry: false })
  return stats === undefined ? undefined : `${stats.ino} ${stats.size} ${stats.mtimeMs}`
}

export type OpenApiSpec = Extract<UpstreamConfig, { readonly type: 'openapi' }>

export function isOpenApi(spec: UpstreamConfig): spec is OpenApiSpec {
  return spec.type === 'openapi'
}
