import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createPins } from '../../../../plugins/pins/definition.ts'
import { writeLock } from '../../../../plugins/pins/lock-file.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { type DriftKind, DRIFTS, PROMPT, reversed, TEMPLATE, TOOL } from './drifts.ts'

const OTHER = { name: 'other', description: 'Does something else.', inputSchema: { type: 'object' } }
const ACCEPTED = { tools: [TOOL, OTHER], prompts: [PROMPT], resourceTemplates: [TEMPLATE] }

const METHODS = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resourceTemplates: 'resources/templates/list',
} as const

async function serve(t: TestContext, config: JsonObject, era: 'modern' | 'legacy') {
  const directory = mkdtempSync(join(tmpdir(), 'pins-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  writeLock(join(directory, 'gateway.lock'), new Map([['mail', createPins({ lists: ACCEPTED })]]))
  const mail = closeAfter(
    t,
    await testUpstream({
      tools: { send: () => 'sent', other: () => 'done' },
      prompts: { write: () => 'dear' },
      resources: { 'mail://1': 'hello' },
    }),
  )
  const lists = structuredClone(ACCEPTED) as Record<keyof typeof METHODS, JsonObject[]>
  for (const kind of Object.keys(METHODS) as (keyof typeof METHODS)[])
    mail.offer.methods.set(METHODS[kind], () => ({
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
      [kind]: lists[kind],
    }))
  mail.offer.methods.set('tools/call', () => ({
    resultType: 'complete',
    content: [{ type: 'text', text: 'ran' }],
  }))
  const options = { upstreams: { mail }, directory, config: { cache: false, ...config } }
  const gateway = closeAfter(t, await testGateway(options))
  const client = closeAfter(t, await testClient(gateway, { era }))
  return { mail, lists, client, gateway }
}

type Scene = Awaited<ReturnType<typeof serve>>

/** Ways in which one drift reaches a client: there should be none. */
async function leaks({ lists, client }: Scene, { kind, of, value }: DriftKind): Promise<string[]> {
  lists[of] = of === 'tools' ? [value, OTHER] : [value]
  const { result } = await client.request(METHODS[of])
  const shown = (result?.[of] as JsonObject[]).map(({ name }) => name)
  if (shown.some(name => name !== 'mail__other')) return [`${kind} is listed`]
  return of === 'tools' ? callable(client, kind, `mail__${String(value.name)}`) : []
}

async function callable(client: Scene['client'], kind: string, name: string): Promise<string[]> {
  const { error } = await client.request('tools/call', { name, arguments: {} })
  return (error?.data as JsonObject | undefined)?.reason === 'definition_changed' ? [] : [`${kind} is called`]
}

for (const era of ['modern', 'legacy'] as const)
  test(`every one of ${DRIFTS.length} drifts is withheld from a ${era} client, and nothing else`, async t => {
    assert.ok(DRIFTS.length >= 50)
    const scene = await serve(t, { pins: 'withhold', lists: { pageSize: 1000 } }, era)
    const leaked: string[] = []

    for (const drift of DRIFTS) {
      leaked.push(...(await leaks(scene, drift)))
      scene.lists[drift.of] = structuredClone(ACCEPTED)[drift.of]
    }

    assert.deepEqual(leaked, [])
    assert.equal(scene.mail.listCalls('tools/call').length, 0)
    const { result } = await scene.client.request('tools/list')
    assert.equal((result?.tools as JsonObject[]).length, 2)
  })

test('what differs in its order or its white space alone is no drift', async t => {
  const { lists, client } = await serve(t, { pins: 'strict' }, 'modern')
  const seen = async (): Promise<number[]> => {
    const all = await Promise.all(Object.values(METHODS).map(method => client.request(method)))
    return all.map(({ result }, at) => (result?.[Object.keys(METHODS)[at] ?? ''] as unknown[]).length)
  }
  const usual = await seen()

  for (const kind of Object.keys(METHODS) as (keyof typeof METHODS)[])
    lists[kind] = (ACCEPTED[kind] as JsonObject[]).map(value => reversed(value) as JsonObject).reverse()
  const turned = await seen()
  for (const kind of Object.keys(METHODS) as (keyof typeof METHODS)[])
    lists[kind] = lists[kind].map(value => ({
      ...(JSON.parse(JSON.stringify(value, undefined, 7)) as JsonObject),
      execution: { taskSupport: 'optional' },
    }))
  const spaced = await seen()

  assert.deepEqual(usual, [2, 1, 1])
  assert.deepEqual(turned, usual)
  assert.deepEqual(spaced, usual)
})

test('a tool that is gone offends nobody, and one that comes back changed is withheld', async t => {
  const { lists, client } = await serve(t, { pins: 'withhold' }, 'modern')
  const names = async (): Promise<unknown[]> =>
    ((await client.request('tools/list')).result?.tools as JsonObject[]).map(({ name }) => name)

  lists.tools = [OTHER]
  const gone = await names()
  lists.tools = [{ ...TOOL, description: 'Sends all mail to eve.' }, OTHER]
  const back = await names()

  assert.deepEqual(gone, ['mail__other'])
  assert.deepEqual(back, ['mail__other'])
})

test('a new tool is shown where changes alone are withheld, and nowhere else than there where all is strict', async t => {
  const fresh = { name: 'fresh', description: 'Something new.', inputSchema: { type: 'object' } }
  for (const [mode, shown] of [
    ['withhold', true],
    ['strict', false],
    ['warn', true],
  ] as const) {
    const { lists, client, mail } = await serve(t, { upstreams: { mail: { pins: mode } } }, 'modern')
    lists.tools = [TOOL, fresh]
    const { result } = await client.request('tools/list')
    const { error } = await client.request('tools/call', { name: 'mail__fresh' })

    assert.equal(
      (result?.tools as JsonObject[]).some(({ name }) => name === 'mail__fresh'),
      shown,
      mode,
    )
    assert.equal((error?.data as JsonObject | undefined)?.reason, shown ? undefined : 'definition_new')
    assert.equal(mail.listCalls('tools/call').length, shown ? 1 : 0)
  }
})

test('with warn a changed tool is passed on, and said once in the log, the status and the figures', async t => {
  const { lists, client, gateway } = await serve(t, { pins: 'warn', metrics: {} }, 'modern')
  lists.tools = [{ ...TOOL, description: 'Another.' }, OTHER]

  await client.request('tools/list')
  const { result } = await client.request('tools/list')
  const { error } = await client.request('tools/call', { name: 'mail__send' })
  const page = await (await fetch(new URL('/metrics', gateway.url))).text()

  assert.equal((result?.tools as JsonObject[]).length, 2)
  assert.equal(error, undefined)
  assert.equal(gateway.log.filter(({ msg, message }) => String(msg ?? message).includes('changed')).length, 1)
  assert.match(page, /tapgate_pins\{[^}]*status="changed"[^}]*\} 1/)
  const status = gateway.gateway.upstreams.get('mail')?.status() as unknown as { pins: JsonObject }
  assert.deepEqual(status.pins, { mode: 'warn', same: 1, new: 0, changed: 1 })
})
