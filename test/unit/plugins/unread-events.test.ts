import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { test, type TestContext } from 'node:test'
import type { Plugin } from '../../../src/plugin.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { open } from './ui/setting.ts'

const KIB = 1024
const MIB = KIB * KIB
/** Messages of one call, together 64 MiB. */
const MESSAGES = 256
/** Bytes that the system holds for both ends of a connection, and what the gateway may keep. */
const MOST = 16 * MIB

type Notify = (method: string, params: JsonObject) => void

/** Makes a call whose client reads nothing until it has ended; gives all that it reads then. */
async function unread(t: TestContext, road: 'REST' | 'page'): Promise<string> {
  const chatty = (_args: JsonObject, { notify }: { notify: Notify }): string => {
    const data = 'x'.repeat(256 * KIB)
    for (let i = 0; i < MESSAGES; i++) notify('notifications/message', { level: 'error', data })
    return 'done'
  }
  const upstream = closeAfter(t, await testUpstream({ tools: { chatty } }))
  const ended = Promise.withResolvers<undefined>()
  const witness: Plugin<never> = {
    name: 'witness',
    setup: ({ hooks }) => hooks.settled.tap(({ method }) => void (method === 'tools/call' && ended.resolve(undefined))),
  }
  const gateway = closeAfter(
    t,
    await testGateway({ upstreams: { web: upstream }, plugins: [witness], config: { rest: {}, ui: {} } }),
  )
  const { cookie, key } = await open(String((await gateway.gateway.control('ui.link')).url))
  const url = new URL(road === 'REST' ? '/tools/call' : '/ui/api/run', gateway.url)
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
  const own = road === 'REST' ? {} : { cookie, 'x-tapgate-ui': key }
  const asked = request(url, { method: 'POST', headers: { ...headers, ...own } })
  asked.end(JSON.stringify({ name: 'web__chatty', arguments: {} }))
  const [reply] = (await once(asked, 'response')) as [IncomingMessage]
  assert.equal(reply.statusCode, 200)

  await ended.promise
  let text = ''
  for await (const piece of reply) text += String(piece)
  return text
}

for (const road of ['REST', 'page'] as const)
  test(`what a server says during a call is bounded for a reader over ${road} that takes nothing, and its result is not lost`, async t => {
    const text = await unread(t, road)

    assert.ok(text.length < MOST, `${Math.round(text.length / MIB)} MiB of 64 were kept`)
    assert.ok(text.length > MIB, 'nothing was told')
    assert.match(text.slice(-300), /"text":"done"/)
  })
