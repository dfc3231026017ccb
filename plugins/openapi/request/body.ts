import { randomBytes } from 'node:crypto'
import { isJsonType } from '../document/parts.ts'
import type { RequestBody } from '../document/types.ts'
import { pairsOf, strictly, textOf } from './styles.ts'

/** A body as it is sent. */
export interface WrittenBody {
  readonly contentType: string
  readonly text: string
}

/** Writes a value in the form that an operation wants. */
export function writeBody(body: RequestBody, value: unknown): WrittenBody {
  const { contentType } = body
  if (isJsonType(contentType)) return { contentType, text: JSON.stringify(value) }
  if (/^application\/x-www-form-urlencoded/i.test(contentType))
    return { contentType, text: form(body, value) }
  if (/^multipart\//i.test(contentType)) return multipart(body, value)
  return { contentType, text: textOf(value) }
}

function form({ encoding }: RequestBody, value: unknown): string {
  if (typeof value !== 'object' || value === null) return textOf(value)
  return Object.entries(value)
    .flatMap(([name, inner]: [string, unknown]) => {
      const { style = 'form', explode = style === 'form', contentType } = encoding.get(name) ?? {}
      const isNested = typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      const isJson =
        (contentType !== undefined && isJsonType(contentType)) || (isNested && !encoding.has(name))
      const written = { name, style, explode, encode: strictly }
      return pairsOf(isJson ? JSON.stringify(inner) : inner, written)
    })
    .join('&')
}

function multipart({ encoding }: RequestBody, value: unknown): WrittenBody {
  const boundary = `----tapgate${randomBytes(16).toString('hex')}`
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : []
  const parts = fields.flatMap(([name, inner]: [string, unknown]) =>
    (Array.isArray(inner) ? (inner as unknown[]) : [inner]).map(one =>
      part(name, one, encoding.get(name)?.contentType),
    ),
  )
  const text = parts.map(one => `--${boundary}\r\n${one}\r\n`).join('')
  return { contentType: `multipart/form-data; boundary=${boundary}`, text: `${text}--${boundary}--\r\n` }
}

function part(name: string, value: unknown, wanted: string | undefined): string {
  const isNested = typeof value === 'object' && value !== null
  const type = wanted !== undefined && /^[\w.!#$&^+-]+\/[\w.!#$&^+-]+$/.test(wanted) ? wanted : undefined
  const contentType = type ?? (isNested ? 'application/json' : undefined)
  const head = `Content-Disposition: form-data; name="${quoted(name)}"`
  const typed = contentType === undefined ? head : `${head}\r\nContent-Type: ${contentType}`
  return `${typed}\r\n\r\n${textOf(value)}`
}

/** As browsers write names: nothing in one can end it. */
function quoted(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22')
}
