import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parse } from 'yaml'
import { runAdd } from '../../../../src/cli/servers/add-command.ts'
import { examine } from '../../../../src/cli/doctor/doctor.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { json, peer } from '../../fixtures/http-peer.ts'
import { silentTerminal } from '../../fixtures/silent-terminal.ts'
import { lab } from '../doctor/lab.ts'

const CARD_TYPE = 'application/mcp-server-card+json'
const CARD = { name: 'com.example/weather', version: '1.0.0', description: 'Weather.' }
const NOBODY = { stdin: { isTTY: false } } as unknown as NodeJS.Process

function createRoom(t: TestContext) {
  const cwd = mkdtempSync(join(tmpdir(), 'cards-'))
  cleanup(t, () => rmSync(cwd, { recursive: true, force: true }))
  const terminal = silentTerminal({
    cwd,
    environment: { PATH: process.env.PATH, HOME: cwd, CARD_SECRET: 'leaked-secret' },
  })
  const config = join(cwd, 'gateway.yaml')
  const common = { config, yes: true, 'dry-run': false, 'no-start': false, 'no-sandbox': true }
  const add = async (targetText: string, flags: object = {}): Promise<JsonObject> => {
    await runAdd({ targetText, command: [], flags: { ...common, ...flags } }, terminal, NOBODY)
    return (parse(readFileSync(config, 'utf8')) as { upstreams: JsonObject }).upstreams
  }
  return { add, config, printed: () => terminal.printed.join('\n') }
}

/** A gateway that serves its own cards. */
async function serveGateway(t: TestContext, more: JsonObject = {}) {
  const web = closeAfter(t, await testUpstream({ tools: { echo: () => 'ok' } }))
  const config = { discovery: { namespace: 'com.example', description: 'Tools.' }, server: { name: 'tools' }, ...more }
  return closeAfter(t, await testGateway({ upstreams: { web }, config })).url
}

/** A server with documents but no MCP; paths without one are not found. */
async function serveDocuments(t: TestContext, create: (origin: string) => Record<string, unknown>) {
  const server = await peer(t, ({ path, verb }, response) => {
    const document = verb === 'GET' ? create(new URL(server.url).origin)[path] : undefined
    json(response, document === undefined ? 404 : 200, document ?? {})
  })
  return server
}

test('a server is added with the name on its card, unless another is given', async t => {
  const url = await serveGateway(t)
  const room = createRoom(t)

  assert.deepEqual(await room.add(url), { tools: { type: 'http', url } })
  assert.match(room.printed(), /note server card: com\.example\/tools: Tools\.\n/)
  assert.match(room.printed(), /started tools: 1 tool/)
  const both = await room.add(`${url}?x=1`, { name: 'mine' })
  assert.deepEqual(Object.keys(both), ['tools', 'mine'])
})

test('a host is added by the only server in its catalog; several servers are listed', async t => {
  const one = await serveGateway(t)
  const several = await serveGateway(t, { profiles: { readers: {} } })
  const room = createRoom(t)

  assert.deepEqual(await room.add(new URL(one).origin), { tools: { type: 'http', url: one } })
  await assert.rejects(room.add(new URL(several).origin), error => {
    const { message } = error as Error
    return message.endsWith(`lists 2 servers: add one by its URL: ${several}, ${several}/readers`)
  })
})

test('a server at another host is not added for the host that was named, and its card is not read', async t => {
  const elsewhere = await serveDocuments(t, () => ({ '/mcp/server-card': CARD }))
  const cards = (card: object) => ({
    '/.well-known/ai-catalog.json': { entries: [{ type: CARD_TYPE, ...card }, { type: 'text/plain' }] },
  })
  const linked = await serveDocuments(t, () => cards({ url: `${elsewhere.url}/server-card` }))
  const inline = await serveDocuments(t, () => cards({ data: { ...CARD, remotes: [{ url: elsewhere.url }] } }))
  const room = createRoom(t)

  for (const { url } of [linked, inline])
    await assert.rejects(room.add(new URL(url).origin), { message: new RegExp(elsewhere.url), code: 'GW_USAGE' })
  assert.deepEqual(elsewhere.heard, [])
})

test('no text on a card or in a catalog becomes a reference to a secret', async t => {
  const server = await serveDocuments(t, origin => {
    const headers = [
      { name: 'X-Value', value: '${CARD_SECRET}' },
      { name: 'X-Default', default: '${CARD_SECRET}' },
      {
        ...{ name: 'X-Parts', value: '{dollar}{name} {dollar}{CARD_SECRET} ${name}' },
        variables: { dollar: { default: '$' }, name: { default: '{CARD_SECRET}' } },
      },
    ]
    const remotes = [{ type: 'streamable-http', url: `${origin}/mcp?q=\${CARD_SECRET}`, headers }]
    const card = { ...CARD, description: '${CARD_SECRET}', remotes }
    return {
      '/.well-known/ai-catalog.json': { entries: [{ type: CARD_TYPE, data: { remotes } }] },
      '/mcp/server-card': card,
    }
  })
  const room = createRoom(t)

  await assert.rejects(room.add(new URL(server.url).origin))
  const tried = server.heard.find(({ verb }) => verb === 'POST')
  assert.equal(tried?.path, '/mcp?q=${CARD_SECRET}')
  assert.equal(tried.headers['x-parts'], '${CARD_SECRET} ${CARD_SECRET} ${CARD_SECRET}')
  assert.doesNotMatch(JSON.stringify(server.heard) + room.printed(), /leaked-secret/)
})

test('headers that a card requires must be given, and what a card says is visible', async t => {
  const headers = [{ name: 'X-Key', isRequired: true, isSecret: true }]
  const { url } = await serveDocuments(t, origin => ({
    '/mcp/server-card': {
      ...{ ...CARD, description: 'Weather\u200b\n\u001b[31mnow' },
      remotes: [
        {
          type: 'streamable-http',
          url: 'https://other.example.com/mcp',
          headers: [{ name: 'X-Other', isRequired: true }],
        },
        { type: 'streamable-http', url: `${origin}/mcp`, headers },
      ],
    },
  }))
  const room = createRoom(t)

  await assert.rejects(room.add(url, { 'dry-run': true }), /missing values: --header 'X-Key: …'$/)
  const dry = room.add(url, { 'dry-run': true, header: ['X-Key: abc-${KEY}'] })
  await assert.rejects(dry, { code: 'ENOENT' }, 'nothing is written')
  assert.match(room.printed(), /weather:[^]*url: http[^]*x-key: abc-\$\{KEY\}/i)
  assert.match(room.printed(), /Weather\\u200b now\n/)
})

test('the transport comes from the card of the same URL, and is shown', async t => {
  const { url } = await serveDocuments(t, origin => ({
    '/mcp/server-card': { ...CARD, remotes: [{ type: 'sse', url: `${origin}/mcp?tenant=a` }] },
  }))
  const room = createRoom(t)

  await assert.rejects(room.add(url, { 'dry-run': true }), { code: 'ENOENT' })
  assert.match(room.printed(), /type: http/)
  assert.doesNotMatch(room.printed(), /sse/)
  await assert.rejects(room.add(`${url}?tenant=a`, { 'dry-run': true }), { code: 'ENOENT' })
  assert.match(room.printed(), /type: sse/)
  assert.match(room.printed(), /note transport: sse, from the server card/)
})

test('entries of a catalog without a URL are left out', async t => {
  const entries = [{ type: CARD_TYPE }, { type: CARD_TYPE, url: 'bad' }, { type: CARD_TYPE, data: [] }]
  const listed = { ...CARD, remotes: [{ url: 'https://other.example.com/mcp' }] }
  const empty = await serveDocuments(t, () => ({ '/.well-known/ai-catalog.json': { entries } }))
  const more = [...entries, { type: CARD_TYPE, data: listed }]
  const one = await serveDocuments(t, () => ({ '/.well-known/ai-catalog.json': { entries: more } }))
  const room = createRoom(t)

  await assert.rejects(room.add(new URL(empty.url).origin, { 'dry-run': true }), { code: 'ENOENT' })
  await assert.rejects(room.add(new URL(one.url).origin), {
    message: /lists 1 server: add one by its URL: https:\/\/other\.example\.com\/mcp$/,
  })
})

test(
  'without a card, or with one that does not come, a server is added as it was given',
  { timeout: 20_000 },
  async t => {
    const silent = await peer(t, () => undefined)
    const invalid = await serveDocuments(t, () => ({ '/mcp/server-card': { name: '../x', remotes: 'none' } }))
    const room = createRoom(t)
    const start = performance.now()

    for (const { url } of [silent, invalid]) {
      await assert.rejects(room.add(url, { 'dry-run': true }), { code: 'ENOENT' })
      assert.ok(room.printed().includes(`url: ${url}`))
    }
    assert.ok(performance.now() - start < 4000)
  },
)

test('gateway doctor --online reports a server whose card describes another one', async t => {
  const url = await serveGateway(t)
  const remote = (own: string, versions: readonly string[] = []) => ({
    ...{ type: 'streamable-http', url: own, supportedProtocolVersions: versions },
  })
  const serve = (create: (origin: string) => object) =>
    serveDocuments(t, origin => ({ '/mcp/server-card': { ...CARD, remotes: [create(origin)] } }))
  const upstreams = {
    sound: url,
    plain: (await serve(origin => remote(`${origin}/mcp/`, ['2025-11-25', '2099-01-01']))).url,
    odd: (await serve(() => ({ type: {}, url: 5 }))).url,
    open: (await serve(() => remote('https://{tenant}.example.com/mcp'))).url,
    moved: (await serve(() => remote('https://new.example.com/mcp'))).url,
    old: (await serve(origin => remote(`${origin}/mcp`, ['2020-01-01']))).url,
  }
  const room = await lab(t)
  const lines = Object.entries(upstreams).map(([name, own]) => `  ${name}: { type: http, url: "${own}" }`)
  await room.config(lines.join('\n'))

  const { findings } = await examine({ config: room.file, online: true }, room.terminal)
  const differing = findings.filter(({ code }) => code === 'card-differs').map(({ summary }) => summary)
  assert.deepEqual(differing.length, 2, differing.join('\n'))
  assert.match(differing.join('\n'), /card of moved .*https:\/\/new\.example\.com\/mcp$/m)
  assert.match(differing.join('\n'), /card of old .*\/mcp 2020-01-01$/m)
})
