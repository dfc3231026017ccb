import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { compactTool } from '../../../../plugins/surface/tool-signature.ts'
import { ToolIndex } from '../../../../plugins/surface/tool-index.ts'
import {
  createSurfaceResolver,
  type SurfaceMode,
  createListing,
  countListTokens,
} from '../../../../plugins/surface/listing.ts'
import { formatSignature } from '../../../../plugins/surface/tool-signature.ts'
import { ANONYMOUS, type CatalogEntry, type Config, type JsonObject } from '../../../../src/plugin.ts'
import { liveServers } from '../../../fixtures/live-mcp-tool/index.ts'

function entryOf(upstream: string, value: JsonObject & { readonly name: string }): CatalogEntry {
  return { kind: 'tools', upstream, original: value.name, exposed: `${upstream}__${value.name}`, value }
}

const LIVE = liveServers().flatMap(({ name, tools }) => tools.map(tool => entryOf(name, tool)))

function settings(mode: SurfaceMode, budget: number, pinned: readonly string[] = []) {
  const surface = {
    mode,
    budget,
    pinned,
    results: 5,
    choices: [],
    clients: {},
    code: { timeout: '30s', calls: 50, memory: '32MiB' },
  }
  const upstreams = Object.fromEntries(LIVE.map(({ upstream }) => [upstream, {}]))
  const reader = { principal: ANONYMOUS, client: { name: 'test', version: '1' } }
  return createSurfaceResolver({ surface, upstreams } as unknown as Config).resolve(reader)
}

test('a list within a budget never costs more, whatever is pinned', () => {
  const arbitrary = fc.record({
    budget: fc.integer({ min: 1000, max: 30_000 }),
    from: fc.nat(LIVE.length),
    count: fc.nat(LIVE.length),
    pinned: fc.constantFrom([], ['*'], ['*search*', '*get*']),
    mode: fc.constantFrom<SurfaceMode>('search', 'auto'),
  })
  fc.assert(
    fc.property(arbitrary, ({ budget, from, count, pinned, mode }) => {
      const { entries } = createListing(LIVE.slice(from, from + count), settings(mode, budget, pinned))
      return countListTokens(entries) <= budget
    }),
    { numRuns: 100 },
  )
})

test('a compact tool keeps the links to its app and its visibility, and no other metadata', () => {
  const links = { ui: { resourceUri: 'ui://a', visibility: ['app'] }, 'openai/outputTemplate': 'ui://a' }
  const entry = { kind: 'tools', upstream: 'a', original: 'a', exposed: 'a' } as const
  const { value } = compactTool({ ...entry, value: { name: 'a', _meta: { ...links, 'example.com/notes': 'long' } } })

  assert.deepEqual(value._meta, links)
  assert.equal(
    '_meta' in compactTool({ ...entry, value: { name: 'a', _meta: { 'example.com/notes': 1 } } }).value,
    false,
  )
})

test('a compact schema takes what the whole one takes', () => {
  const ajv = new Ajv({ strict: false, validateFormats: false, logger: false })
  const samples = [{}, { query: 'x' }, { path: 'x', content: 'y' }, { id: 1 }, { url: 'http://a' }, { text: 5 }]
  let taken = 0
  for (const entry of LIVE.filter((_, index) => index % 4 === 0)) {
    if (ajv.validateSchema(entry.value.inputSchema as object) !== true) continue
    const whole = ajv.compile(entry.value.inputSchema as object)
    const compact = ajv.compile(compactTool(entry).value.inputSchema as object)
    for (const sample of samples)
      if (whole(sample)) {
        taken++
        assert.ok(compact(sample), `${entry.exposed} ${JSON.stringify(sample)}`)
      }
  }
  assert.ok(taken > 50)
})

test('a schema of any shape makes a line and an index', () => {
  const schema = fc.oneof(
    fc.jsonValue(),
    fc.record({ properties: fc.jsonValue(), required: fc.jsonValue(), enum: fc.jsonValue() }),
  )
  const entry = fc.record({
    description: fc.jsonValue(),
    inputSchema: schema,
    annotations: fc.jsonValue(),
    title: fc.jsonValue(),
  })
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 5 }), fc.string(), (values, query) => {
      const entries = values.map((value, i) => entryOf('a', { name: `t${i}`, ...value }))
      entries.forEach(formatSignature)
      entries.forEach(compactTool)
      new ToolIndex(entries).search(query, 5)
    }),
    { numRuns: 200 },
  )
})

test('a word that is misspelled, or only begun, finds its tool', () => {
  const index = new ToolIndex(LIVE)
  const first = (query: string): string | undefined => index.search(query, 1)[0]?.exposed
  assert.match(first('wikipeda') ?? '', /wikipedia/)
  assert.match(first('chromagr') ?? '', /chroma/)
  assert.deepEqual(index.search('', 5), [])
  assert.deepEqual(index.search('the of and', 5), [])
})
