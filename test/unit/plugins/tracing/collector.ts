import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { text } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
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

/** A collector that listens on loopback and keeps what it is sent. */
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

function spansIn(body: string): Span[] {
  const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
}
