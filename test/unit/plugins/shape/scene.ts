import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { closeAfter, TestClock, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'

export const ERAS = ['modern', 'legacy'] as const
export const ROWS = Array.from({ length: 500 }, (_, id) => ({
  id,
  title: `row ${id}`,
  html: '<p>'.repeat(20),
}))
export const LONG = Array.from({ length: 4000 }, (_, line) => `line ${line} – ø\n`).join('')
export const MAIN = { listeners: { main: { type: 'http', port: 0 } } }

/** A block of content. */
export interface Block {
  readonly type: string
  readonly text: string
}

/** A gateway with rules, before a server whose results are long. */
export async function scene(t: TestContext, shape: JsonObject | undefined, more: JsonObject = {}) {
  const web = closeAfter(
    t,
    await testUpstream({
      tools: {
        rows: {
          outputSchema: { type: 'object', properties: { items: { type: 'array' } } },
          run: () => ({
            content: [{ type: 'text', text: JSON.stringify({ items: ROWS }) }],
            structuredContent: { items: ROWS },
          }),
        },
        list: () => ({ content: [{ type: 'text', text: JSON.stringify(ROWS, undefined, 1) }] }),
        long: () => LONG,
        report: () => ({ content: [{ type: 'text', text: LONG }], structuredContent: { lines: 4000 } }),
        big: () => ({
          content: [{ type: 'text', text: `[{"id":9007199254740993,"more":"${'x'.repeat(9000)}"}]` }],
        }),
        fails: () => ({ content: [{ type: 'text', text: LONG }], isError: true }),
        picture: () => ({
          content: [
            { type: 'image', data: 'A'.repeat(20_000), mimeType: 'image/png' },
            { type: 'resource_link', uri: 'file:///a', name: 'a' },
            { type: 'text', text: LONG },
          ],
        }),
        echo: args => JSON.stringify(args),
      },
    }),
  )
  const clock = new TestClock()
  const config = { ...(shape === undefined ? {} : { shape }), cache: false as const, ...more }
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config, clock }))
  const open = async (options: Parameters<typeof testClient>[1] = {}, profile = '') =>
    closeAfter(t, await testClient(gateway.url + profile, options))
  return { web, gateway, open, clock }
}

export type Client = Awaited<ReturnType<typeof testClient>>

/** Result of a call; an error under `error`. */
export async function call(
  client: Client,
  name: string,
  args: JsonObject = {},
  meta?: JsonObject,
): Promise<JsonObject> {
  const { result, error } = await client.request('tools/call', {
    name,
    arguments: args,
    ...(meta === undefined ? {} : { _meta: meta }),
  })
  return result ?? { error }
}

/** Texts of a result. */
export function texts(result: JsonObject): string[] {
  return (result.content as Block[]).filter(({ type }) => type === 'text').map(({ text }) => text)
}

/** Handle of a result that was cut. */
export function handleOf(result: JsonObject): string {
  const said = (result._meta as JsonObject)['io.tapgate/result'] as JsonObject
  return String(said.handle)
}

/** Reads a whole result page by page. */
export async function readAll(client: Client, handle: string): Promise<string> {
  let text = ''
  for (let offset: unknown = 0; typeof offset === 'number';) {
    const page = await call(client, 'read_result', { handle, offset })
    assert.equal(page.isError, undefined, texts(page)[0])
    text += texts(page)[0] ?? ''
    offset = ((page._meta as JsonObject)['io.tapgate/result'] as JsonObject).next
  }
  return text
}
