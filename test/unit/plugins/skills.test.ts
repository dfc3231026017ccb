import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import fc from 'fast-check'
import { formatCursor, parseCursor } from '../../../plugins/skills/skill-uris.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { parseSkillUri, toSkillUri } from '../../../src/protocol/skill-uri.ts'
import { canonicalizeUri } from '../../../src/protocol/uri.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'
import type { TestGatewayOptions } from '../../../src/testing/index.ts'

const NAME = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/)
const URI = fc.stringMatching(/^(skill|github|repo\+x):\/\/[a-z0-9:.]{0,6}(\/[a-z0-9:.-]{1,6}){0,3}\/SKILL\.md$/)
/** Those that servers accept in a request. */
const READABLE = fc.stringMatching(/^(skill|github):\/\/[a-z0-9]{1,6}(\/[a-z][a-z0-9-]{0,5}){0,3}\/SKILL\.md$/)
const EXTENSION = { extensions: { 'io.modelcontextprotocol/skills': {} } }

test('every URI is found again, and the URIs of two servers never are the same', () => {
  fc.assert(
    fc.property(NAME, NAME, URI, (one, other, uri) => {
      assert.deepEqual(parseSkillUri(toSkillUri(one, uri)), { upstream: one, uri: canonicalizeUri(uri) })
      if (one !== other) assert.notEqual(toSkillUri(one, uri), toSkillUri(other, uri))
    }),
    { numRuns: 2000 },
  )
  assert.equal(toSkillUri('crm', 'skill://refunds/SKILL.md'), 'skill://crm/refunds/SKILL.md')
})

test('a cursor names its server and keeps its own cursor; an unknown one is refused', () => {
  assert.deepEqual(parseCursor(formatCursor('a', 'x:y'), ['a']), { upstream: 'a', cursor: 'x:y' })
  assert.deepEqual(parseCursor(formatCursor('a'), ['a']), { upstream: 'a' })
  assert.equal(parseCursor('b:1', ['a']), undefined)
})

test('with 200 pairs of equal URIs on two servers every read reaches the server that it names', async t => {
  const uris = new Set(fc.sample(READABLE, { numRuns: 200, seed: 7 }))
  const offer = (from: string) =>
    testUpstream({
      capabilities: EXTENSION,
      resources: Object.fromEntries([...uris].map(uri => [uri, `${from} ${uri}`])),
    })
  const [a, b] = [closeAfter(t, await offer('a')), closeAfter(t, await offer('b'))]
  const gateway = closeAfter(t, await testGateway({ upstreams: { a, b } }))
  const client = closeAfter(t, await testClient(gateway.url))
  let wrong = 0
  for (const uri of uris)
    for (const upstream of ['a', 'b']) {
      const { result } = await client.request('resources/read', { uri: toSkillUri(upstream, uri) })
      if (!JSON.stringify(result).includes(`"${upstream} ${uri}"`)) wrong++
    }

  assert.equal(wrong, 0)
})

test('a server whose list of skills fails does not hide those of the others', async t => {
  const broken = closeAfter(
    t,
    await testUpstream({
      capabilities: EXTENSION,
      methods: { 'skills/list': () => ({ code: -32603, message: 'no' }) },
    }),
  )
  const fine = closeAfter(
    t,
    await testUpstream({
      capabilities: EXTENSION,
      methods: {
        'skills/list': () => ({
          skills: [{ uri: 'skill://x/SKILL.md', resources: 'dynamic' }],
          ttlMs: 0,
          cacheScope: 'private',
        }),
      },
    }),
  )
  const gateway = closeAfter(t, await testGateway({ upstreams: { broken, fine } }))
  const client = closeAfter(t, await testClient(gateway.url))
  const first = await client.request('skills/list')
  const second = await client.request('skills/list', { cursor: (first.result as { nextCursor: string }).nextCursor })

  assert.deepEqual((first.result as { skills: unknown }).skills, [])
  assert.match(JSON.stringify(second.result), /skill:\/\/fine\/x\/SKILL\.md/)
})

test('skills that the rules for resources hide are in no list, and cannot be asked for', async t => {
  const list = ['open', 'secret'].map(name => ({ uri: `skill://${name}/SKILL.md`, resources: 'dynamic' }))
  const methods = {
    'skills/list': () => ({ skills: list, ttlMs: 0, cacheScope: 'private' }),
    'skills/get': ({ uri }: { uri?: unknown }) => ({
      skill: { uri, resources: 'dynamic' },
      ttlMs: 0,
      cacheScope: 'private',
    }),
    'resources/directory/read': () => ({ resources: list, ttlMs: 0, cacheScope: 'private' }),
  }
  const [a, b] = [
    closeAfter(
      t,
      await testUpstream({ capabilities: EXTENSION, methods, resources: { 'skill://secret/SKILL.md': 'x' } }),
    ),
    closeAfter(
      t,
      await testUpstream({ capabilities: EXTENSION, methods, resources: { 'skill://secret/SKILL.md': 'x' } }),
    ),
  ]
  const config = { filters: { resources: { deny: ['skill://secret/**'] } }, profiles: { one: { upstreams: ['a'] } } }
  const gateway = closeAfter(t, await testGateway({ upstreams: { a, b }, config }))
  const client = closeAfter(t, await testClient(gateway.url))
  const narrow = closeAfter(t, await testClient(`${gateway.url}/one`))
  const text = async (method: string, params: JsonObject, from = client) =>
    JSON.stringify(await from.request(method, params))

  assert.doesNotMatch(await text('skills/list', {}), /secret/)
  assert.doesNotMatch(await text('resources/directory/read', { uri: 'skill://a/open' }), /secret/)
  assert.match(await text('skills/get', { uri: 'skill://a/open/SKILL.md' }), /skill:\/\/a\/open/)
  assert.match(await text('skills/get', { uri: 'skill://a/secret/SKILL.md' }), /-32602/)
  assert.match(await text('resources/read', { uri: 'skill://a/secret/SKILL.md' }), /-32602|-32002/)
  assert.doesNotMatch(await text('skills/list', {}, narrow), /nextCursor/)
  // For this client it is a URI of the only server that it may use.
  assert.doesNotMatch(await text('skills/get', { uri: 'skill://b/open/SKILL.md' }, narrow), /"skill:\/\/b\//)
  assert.match(await text('skills/get', { uri: 'skill://secret/SKILL.md' }, narrow), /-32602/)
})

/** A server with one skill, whose file has this content. */
async function serveSkill(t: TestContext, content: JsonObject, skill: JsonObject = createSkill('good')) {
  const methods = {
    'skills/list': () => ({ skills: [skill], ...FRESH }),
    'resources/read': ({ uri }: JsonObject) => ({ contents: [{ uri, ...content }], ...FRESH }),
  }
  return closeAfter(t, await testUpstream({ capabilities: EXTENSION, resources: { [FILE]: 'listed' }, methods }))
}

const FRESH = { ttlMs: 0, cacheScope: 'private' }
const FILE = 'skill://refunds/SKILL.md'

function createSkill(text: string, uri = FILE): JsonObject {
  const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`
  const resources = [FILE, uri].map(one => ({ uri: one, digest, size: text.length }))
  return { uri: FILE, frontmatter: { name: 'refunds' }, resources: uri === FILE ? resources.slice(1) : resources }
}

test('content that only partly is what the manifest describes is not passed on', async t => {
  const good = Buffer.from('good').toString('base64')
  const forged = [{ text: 'EVIL', blob: good }, { blob: `${good}QUJD` }, { text: 'good', uri: 'skill://other' }, {}]
  for (const content of forged) {
    const crm = await serveSkill(t, content)
    const gateway = closeAfter(t, await testGateway({ upstreams: { crm } }))
    const client = closeAfter(t, await testClient(gateway.url))
    await client.request('skills/list')
    const { error } = await client.request('resources/read', { uri: 'skill://crm/refunds/SKILL.md' })
    assert.deepEqual(error?.data, { code: 'GW_SKILL_FILE' }, JSON.stringify(content))
  }
})

test('a URI that names a server never leads to another server', async t => {
  const uri = 'skill://a/refunds/SKILL.md'
  const b = closeAfter(
    t,
    await testUpstream({
      capabilities: EXTENSION,
      resources: { [uri]: 'of b' },
      methods: { 'skills/get': () => ({ skill: { uri, frontmatter: {}, resources: 'dynamic' }, ...FRESH }) },
    }),
  )
  const plain = closeAfter(t, await testUpstream({ tools: { x: () => 'x' } }))
  const a = await serveSkill(t, { text: 'good' })
  const configs: (TestGatewayOptions & { readonly path?: string })[] = [
    { upstreams: { b }, config: { upstreams: { a: { type: 'http', url: 'http://127.0.0.1:9/mcp' } } } },
    { upstreams: { a: plain, b }, config: {} },
    { upstreams: { a, b }, config: { profiles: { own: { upstreams: ['b'] } } }, path: '/own' },
  ]
  for (const { path = '', ...options } of configs) {
    const gateway = closeAfter(t, await testGateway(options))
    const client = closeAfter(t, await testClient(gateway.url + path))
    for (const method of ['resources/read', 'skills/get']) {
      const { error } = await client.request(method, { uri })
      assert.notEqual(error, undefined, `${method} ${JSON.stringify(options)}`)
    }
  }
})

test('a manifest with files outside its directory is not listed', async t => {
  const crm = await serveSkill(t, { text: 'x' }, createSkill('good', 'skill://shared/run.sh'))
  const gateway = closeAfter(t, await testGateway({ upstreams: { crm } }))
  const client = closeAfter(t, await testClient(gateway.url))
  const { result } = await client.request('skills/list')

  assert.deepEqual((result as JsonObject).skills, [])
  assert.match(JSON.stringify(gateway.log), /skill:\/\/shared\/run\.sh is outside its directory/)
})

test('a failed last server does not hide the skills of others, and an empty cursor ends a list', async t => {
  const first = closeAfter(
    t,
    await testUpstream({
      capabilities: EXTENSION,
      methods: { 'skills/list': () => ({ skills: [createSkill('good')], nextCursor: '', ...FRESH }) },
    }),
  )
  const last = closeAfter(
    t,
    await testUpstream({
      capabilities: EXTENSION,
      methods: { 'skills/list': () => ({ code: -32603, message: 'no' }) },
    }),
  )
  const gateway = closeAfter(t, await testGateway({ upstreams: { first, last } }))
  const client = closeAfter(t, await testClient(gateway.url))

  const { result } = await client.request('skills/list')
  assert.equal((result as JsonObject).nextCursor, 'last')
  const { result: end } = await client.request('skills/list', { cursor: 'last' })
  assert.partialDeepStrictEqual(end, { skills: [] })
})

test('a modern client gets freshness also from a legacy server', async t => {
  const methods = { 'skills/list': () => ({ skills: [createSkill('good')] }) }
  const crm = closeAfter(t, await testUpstream({ capabilities: EXTENSION, methods, era: 'legacy' }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { crm } }))
  const client = closeAfter(t, await testClient(gateway.url, { era: 'modern' }))

  assert.partialDeepStrictEqual((await client.request('skills/list')).result, { ttlMs: 0, cacheScope: 'private' })
})

test('an original URI leads to the only server whose skill has it, and is refused if several have it', async t => {
  const [a, b] = [await serveSkill(t, { text: 'good' }), await serveSkill(t, { text: 'good', mimeType: 'text/b' })]
  const gateway = closeAfter(t, await testGateway({ upstreams: { a, b } }))
  const client = closeAfter(t, await testClient(gateway.url))

  await client.request('skills/list', { cursor: 'b' })
  const { result } = await client.request('resources/read', { uri: FILE })
  assert.partialDeepStrictEqual(result, { contents: [{ uri: FILE, text: 'good', mimeType: 'text/b' }] })
  await client.request('skills/list')
  const { error } = await client.request('resources/read', { uri: FILE })
  assert.match(String(error?.message), /skill:\/\/a\/refunds\/SKILL\.md, skill:\/\/b\/refunds\/SKILL\.md/)
})
