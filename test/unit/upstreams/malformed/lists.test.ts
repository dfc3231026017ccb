import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { type Kind, KINDS, LISTS } from '../../../../src/protocol/methods.ts'
import { listAll, type Lists, rawServer, startMalformed } from '../../../fixtures/malformed-upstream.ts'

/** Values of every JSON type, of which each is wrong for most fields. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1.5,
  '',
  '12',
  [],
  [null],
  [1, 'a', {}],
  ['a'],
  {},
  { a: null },
  { a: true, b: 'x', c: [], d: 5, e: false },
]

/** Optional fields by kind; a dotted one is inside another. */
const FIELDS: Readonly<Record<Kind, readonly string[]>> = {
  tools: [
    ...['title', 'description', 'icons', '_meta', 'annotations', 'execution', 'inputSchema', 'outputSchema'],
    ...['annotations.title', 'annotations.readOnlyHint', 'annotations.destructiveHint'],
    ...['annotations.idempotentHint', 'annotations.openWorldHint', 'execution.taskSupport'],
    ...['inputSchema.type', 'inputSchema.properties', 'inputSchema.required', 'inputSchema.properties.p'],
    ...['inputSchema.$schema', 'inputSchema.additionalProperties', 'inputSchema.$defs'],
    ...['outputSchema.type', 'outputSchema.properties', 'outputSchema.required', 'outputSchema.properties.p'],
    ...['outputSchema.$ref', 'outputSchema.$id', 'outputSchema.id', 'outputSchema.$anchor', 'outputSchema.$defs'],
    ...['outputSchema.items', 'outputSchema.anyOf', 'outputSchema.not', 'outputSchema.enum'],
    ...['outputSchema.pattern', 'outputSchema.minimum', 'outputSchema.exclusiveMinimum', 'outputSchema.format'],
    ...['outputSchema.properties.p.type', 'outputSchema.properties.p.items', 'outputSchema.properties.p.oneOf'],
    ...['outputSchema.properties.p.pattern', 'outputSchema.properties.p.nullable'],
    ...['outputSchema.patternProperties', 'outputSchema.dependencies', 'outputSchema.additionalProperties'],
    ...['icons.0', 'icons.0.src', 'icons.0.mimeType', 'icons.0.sizes', 'icons.0.theme'],
  ],
  prompts: [
    ...['title', 'description', 'icons', '_meta', 'arguments', 'arguments.0', 'arguments.0.name'],
    ...['arguments.0.title', 'arguments.0.description', 'arguments.0.required'],
  ],
  resources: [
    ...['name', 'title', 'description', 'icons', '_meta', 'mimeType', 'size', 'annotations'],
    ...['annotations.audience', 'annotations.priority', 'annotations.lastModified'],
  ],
  resourceTemplates: [
    ...['name', 'title', 'description', 'icons', '_meta', 'mimeType', 'annotations'],
    ...['annotations.audience', 'annotations.priority', 'annotations.lastModified'],
  ],
}

/** More values of single fields, as servers really send them, or could. */
const SPECIAL: Readonly<Record<string, readonly unknown[]>> = {
  'annotations.lastModified': ['2025-01-12', '2025-02-30T10:00:00Z', '2025-01-12T15:00:58', 'yesterday'],
  'annotations.priority': [2, '0.5'],
  'annotations.audience': [['robot'], 'user', ['user', 'robot']],
  'inputSchema.type': ['array', ['object', 'null'], 'nonsense'],
  'outputSchema.type': ['array', ['object', 'null'], 'nonsense', ['object', 'nonsense']],
  'outputSchema.pattern': ['(', '(?<=a', '\\p{Nope}'],
  'outputSchema.patternProperties': [{ '(': {} }],
  'outputSchema.$ref': ['#/nowhere', '#nowhere', 'https://example.com/schema.json', 'other', '#', '#/$defs/a'],
  'outputSchema.$id': ['urn:same', 'not a uri %', '#a'],
  'outputSchema.properties.p.oneOf': [[{ $id: 'urn:same' }], [{ $anchor: 'x' }, { $anchor: 'x' }]],
  'outputSchema.$defs': [{ a: { $ref: '#/$defs/a' } }, { a: { $id: 'urn:same', type: 'string' } }],
  'outputSchema.$anchor': ['1 2'],
  'icons.0.src': ['javascript:alert(1)', 'https://example.com/a.png'],
}

const BASE: Readonly<Record<Kind, JsonObject>> = {
  tools: {
    inputSchema: { type: 'object', properties: { p: { type: 'string' } }, required: ['p'] },
  },
  prompts: { arguments: [{ name: 'p' }] },
  resources: { name: 'n' },
  resourceTemplates: { name: 'n' },
}

/** Entries that each have one fault, with a name that says which. */
function faulty(kind: Kind): JsonObject[] {
  return FIELDS[kind].flatMap(path =>
    [...VALUES, ...(SPECIAL[path] ?? [])].map((value, index) => {
      const entry = { ...structuredClone(BASE[kind]), ...key(kind, `${path}-${index}`) }
      put(entry, path.split('.'), value)
      return entry
    }),
  )
}

function key(kind: Kind, label: string): JsonObject {
  if (kind === 'resources') return { uri: `bad://${label}` }
  return kind === 'resourceTemplates' ? { uriTemplate: `bad://${label}/{id}` } : { name: label }
}

function put(at: JsonObject | unknown[], [step = '', ...rest]: readonly string[], value: unknown): void {
  const holder = at as JsonObject
  if (rest.length === 0) holder[step] = value
  else {
    holder[step] ??= rest[0] === '0' ? [{ src: 'https://example.com/i.png' }] : beginning(step)
    put(holder[step] as JsonObject, rest, value)
  }
}

function beginning(step: string): JsonObject {
  return step.endsWith('Schema') ? { type: 'object' } : {}
}

/** Things that are no entries at all. */
const HOPELESS: readonly unknown[] = [...VALUES, { name: 5, uri: 5 }, { description: 'no name' }]

/** Results of list methods without a list. */
const NO_LISTS = [undefined, null, {}, { a: { name: 'a' } }, 'tools', 5, true].map(list => ({ list }))

const FAULTY = Object.fromEntries(KINDS.map(kind => [kind, faulty(kind)])) as Record<Kind, JsonObject[]>

function kindOf(method: string): Kind | undefined {
  return KINDS.find(kind => LISTS[kind].method === method)
}

for (const era of ['legacy', 'modern'] as const) {
  const frame = era === 'legacy' ? {} : { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }

  test(`malformed entries of a ${era} server are repaired or withheld, and all lists stay readable`, async t => {
    const bad = rawServer(method => {
      const kind = kindOf(method)
      return kind && { ...frame, [LISTS[kind].member]: [...HOPELESS, ...FAULTY[kind]] }
    }, era)
    const { gateway, peers } = await startMalformed(t, { servers: { bad } })

    const lists = await peers.useGood()

    for (const [peer, listed] of lists) assertAllListed(listed, peer)
    const { upstreams } = await gateway.gateway.inspect()
    const { lists: problems } = upstreams.find(({ name }) => name === 'bad') ?? {}
    for (const kind of KINDS) assert.match(String(problems?.[kind]), /withheld/)
  })

  test(`a ${era} server without lists is named, and costs the others nothing`, async t => {
    let list: unknown
    let extra: JsonObject = {}
    const bad = rawServer(method => {
      const kind = kindOf(method)
      return kind && { ...frame, ...extra, ...(list === undefined ? {} : { [LISTS[kind].member]: list }) }
    }, era)
    const { gateway, peers } = await startMalformed(t, { servers: { bad } })

    for ({ list } of NO_LISTS) {
      const lists = await peers.useGood()

      for (const { tools } of lists.values()) assert.equal(tools.length, 2)
      const { upstreams } = await gateway.gateway.inspect()
      const { lists: problems } = upstreams.find(({ name }) => name === 'bad') ?? {}
      assert.match(String(problems?.tools), /no list/)
    }
    list = []
    for (const member of ['_meta', 'nextCursor', 'ttlMs', 'cacheScope', 'resultType'])
      for (const value of [null, -1.5, [1]]) {
        extra = { [member]: value }
        await peers.each(listAll)
      }
    await peers.useGood()
  })
}

test('an entry that nests too deep is withheld alone, and named', async t => {
  const deep = (depth: number): string =>
    `{"name":"deep-${depth}","inputSchema":{"type":"object","default":${'['.repeat(depth)}${']'.repeat(depth)}}}`
  const plain = '{"name":"plain","inputSchema":{"type":"object"}}'
  const tools = `{"tools":[${[deep(70), plain, deep(5000), deep(50_000)].join()}]}`
  const bad = rawServer(method => (method === 'tools/list' ? tools : undefined))
  const { gateway, peers } = await startMalformed(t, { servers: { bad } })

  for (const listed of (await peers.useGood()).values())
    assert.deepEqual(listed.tools.map(({ name }) => name).sort(), ['bad__plain', 'one__echo', 'two__echo'])
  const { upstreams } = await gateway.gateway.inspect()
  const problem = String(upstreams.find(({ name }) => name === 'bad')?.lists?.tools)
  for (const depth of [70, 5000, 50_000]) assert.ok(problem.includes(`"deep-${depth}"`), problem)
})

function assertAllListed(lists: Lists, peer: string): void {
  for (const kind of KINDS) {
    const names = new Set(lists[kind].map(entry => entry[LISTS[kind].key]))
    for (const entry of FAULTY[kind]) {
      const name = String(entry[LISTS[kind].key])
      assert.ok(names.has(kind === 'tools' || kind === 'prompts' ? `bad__${name}` : name), `${peer}: ${name}`)
    }
  }
}
