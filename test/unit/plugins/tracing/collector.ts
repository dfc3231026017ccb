import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { text } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import { isObject, type JsonObject } from '../../../../src/protocol/json/json.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

/** A span as a reader of OTLP in JSON has it. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly flags: number
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: JsonObject }[]
  readonly links?: readonly JsonObject[]
  readonly status?: { readonly code?: number; readonly message?: string }
}

/** A collector that listens on loopback and keeps what it is sent, after it has checked it against the proto. */
export interface Collector {
  readonly url: string
  readonly spans: Span[]
  readonly requests: { readonly headers: IncomingMessage['headers']; readonly body: string }[]
  /** Resolves once so many spans have come. */
  got(count: number): Promise<Span[]>
}

type Answer = (response: ServerResponse) => void

const ACCEPTS: Answer = response => void response.writeHead(200, { 'content-type': 'application/json' }).end('{}')

export async function collector(t: TestContext, answer: Answer = ACCEPTS): Promise<Collector> {
  const spans: Span[] = []
  const requests: { headers: IncomingMessage['headers']; body: string }[] = []
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    const { 'content-encoding': packed } = request.headers
    void text(packed === 'gzip' ? request.pipe(createGunzip()) : request).then(body => {
      requests.push({ headers: request.headers, body })
      assert.equal(request.url, '/v1/traces')
      spans.push(...spansIn(body))
      answer(response)
      for (const look of waiting) look()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  cleanup(t, async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  const got = (count: number): Promise<Span[]> =>
    new Promise(resolve => {
      const look = (): void => {
        if (spans.length >= count) resolve(spans)
      }
      waiting.add(look)
      look()
    })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, requests, got }
}

/** Value of an attribute; undefined where there is none. */
export function valueOf({ attributes }: Span, key: string): unknown {
  const found = attributes.filter(attribute => attribute.key === key)
  assert.ok(found.length < 2, `${key} is there twice`)
  return found[0] === undefined ? undefined : Object.values(found[0].value)[0]
}

/** Reads a request as the collector does: by the fields of opentelemetry-proto in proto3 JSON, and no others. */
export function spansIn(body: string): Span[] {
  const request = JSON.parse(body) as unknown
  check(request, 'Request', '')
  const { resourceSpans } = request as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
}

type Kind =
  | 'string'
  | 'hex16'
  | 'hex8'
  | 'fixed64'
  | 'int64'
  | 'uint32'
  | 'enum'
  | 'bool'
  | 'double'
  | `[]${string}`
  | `:${string}`

/** Messages of opentelemetry-proto (trace.proto, resource.proto, common.proto): what stands in them, by its JSON name. */
const MESSAGES: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  Request: { resourceSpans: '[]ResourceSpans' },
  ResourceSpans: { resource: ':Resource', scopeSpans: '[]ScopeSpans', schemaUrl: 'string' },
  Resource: { attributes: '[]KeyValue', droppedAttributesCount: 'uint32' },
  ScopeSpans: { scope: ':Scope', spans: '[]Span', schemaUrl: 'string' },
  Scope: { name: 'string', version: 'string', attributes: '[]KeyValue', droppedAttributesCount: 'uint32' },
  Span: {
    traceId: 'hex16',
    spanId: 'hex8',
    traceState: 'string',
    parentSpanId: 'hex8',
    flags: 'uint32',
    name: 'string',
    kind: 'enum',
    startTimeUnixNano: 'fixed64',
    endTimeUnixNano: 'fixed64',
    attributes: '[]KeyValue',
    links: '[]Link',
    status: ':Status',
  },
  Link: { traceId: 'hex16', spanId: 'hex8', traceState: 'string', attributes: '[]KeyValue', flags: 'uint32' },
  Status: { message: 'string', code: 'enum' },
  KeyValue: { key: 'string', value: ':AnyValue' },
  AnyValue: { stringValue: 'string', boolValue: 'bool', intValue: 'int64', doubleValue: 'double' },
}

const SCALARS: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: value => typeof value === 'string',
  hex16: value => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value) && !/^0+$/.test(value),
  hex8: value => typeof value === 'string' && /^[0-9a-f]{16}$/.test(value) && !/^0+$/.test(value),
  fixed64: value => typeof value === 'string' && /^\d+$/.test(value) && BigInt(value) < 2n ** 64n,
  int64: value => typeof value === 'string' && /^-?\d+$/.test(value),
  uint32: value => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 32,
  enum: value => Number.isInteger(value) && Number(value) >= 0,
  bool: value => typeof value === 'boolean',
  double: value => typeof value === 'number',
}

function check(value: unknown, message: string, path: string): void {
  const fields = MESSAGES[message]
  assert.ok(fields !== undefined && isObject(value), `${path} is a ${message}`)
  for (const [name, member] of Object.entries(value)) {
    const kind = fields[name]
    assert.ok(kind !== undefined, `${message} has no ${name}`)
    const at = `${path}/${name}`
    if (kind.startsWith('[]')) {
      assert.ok(Array.isArray(member), at)
      for (const [index, one] of member.entries()) check(one, kind.slice(2), `${at}/${index}`)
    } else if (kind.startsWith(':')) check(member, kind.slice(1), at)
    else assert.ok(SCALARS[kind]?.(member), `${at} is a ${kind}: ${JSON.stringify(member)}`)
  }
}
