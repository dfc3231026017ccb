import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { HttpReply, HttpRequest } from '../../src/plugin.ts'

/** Nothing of the page comes from elsewhere, nothing of it runs that is no file of ours, and it stands in no frame. */
const HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  vary: 'accept-encoding, origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

interface File {
  readonly text: string
  readonly packed: Buffer
  readonly etag: string
  readonly type: string
}

let files: Promise<ReadonlyMap<string, File>> | undefined

/** The files of the page. There is nothing in them that anybody may not know; the first who asks has them loaded. */
export async function serveFile(name: string, { method, header }: HttpRequest): Promise<HttpReply> {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, headers: { allow: 'GET, HEAD' } }
  files ??= load()
  const file = (await files).get(name)
  if (file === undefined) return { status: 404, headers: HEADERS, body: 'not found' }
  const headers = { ...HEADERS, 'content-type': file.type, etag: file.etag }
  if (header('if-none-match').includes(file.etag)) return { status: 304, headers }
  const isPacked = /\bgzip\b/.test(header('accept-encoding').join(','))
  const body = isPacked ? file.packed : file.text
  const length = String(Buffer.byteLength(body))
  return {
    status: 200,
    headers: { ...headers, 'content-length': length, ...(isPacked ? { 'content-encoding': 'gzip' } : {}) },
    body: method === 'HEAD' ? '' : body,
  }
}

async function load(): Promise<ReadonlyMap<string, File>> {
  const { FILES } = await import('./page-files.gen.ts')
  return new Map(Object.entries<string>(FILES).map(([name, text]) => [name, fileOf(name, text)]))
}

function fileOf(name: string, text: string): File {
  return {
    text,
    packed: gzipSync(text),
    etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
    type: TYPES[name.split('.').at(-1) ?? ''] ?? 'text/plain; charset=utf-8',
  }
}
