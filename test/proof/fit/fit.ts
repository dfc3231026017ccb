// Fits 527 real tools (LiveMCPTool) to every client of the table. No name or schema may be over a client's limits, no two names the
// same, all names the same in two gateways, and the fitted schemas must take what the servers' own take.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Profiles, type ClientProfile } from '../../../plugins/fit/profiles.ts'
import { isObject, type JsonObject } from '../../../src/protocol/json/json.ts'
import { testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { liveServers } from '../../fixtures/live-mcp-tool/index.ts'
import { refusedBy } from './limits.ts'
import { numbers, sampleOf, spoilt } from './samples.ts'

const SAMPLES = 20
const SERVER = 'gateway'
/** Part of the tools whose samples must all be taken as before. */
const LEAST = 0.98

interface Tool {
  readonly name: string
  readonly inputSchema: JsonObject
}

interface Row {
  readonly client: string
  readonly tools: number
  readonly renamed: number
  readonly rewritten: number
  readonly refused: string[]
  readonly same: number
  readonly sameVerdicts: number
  readonly others: string[]
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false, logger: false })
const before = new Map<string, Tool>()
for (const { name, tools } of liveServers())
  for (const tool of tools)
    before.set(`${nameOf(name)}__${tool.name}`, { name: tool.name, inputSchema: tool.inputSchema })

const clients = new Profiles({}).all
const first = await listsOf(clients)
const second = await listsOf(clients)
const rows = clients.map((profile, index) => rowOf(profile, first[index] ?? []))
const moved = clients.filter((_, index) => !isSame(namesOf(first[index]), namesOf(second[index])))

for (const row of rows)
  console.log(
    `${row.client.padEnd(12)} ${row.tools} tools, ${row.renamed} renamed, ${row.rewritten} rewritten, ` +
      `${row.refused.length} over a limit; all samples as before: ${percent(row.same)}, verdicts the same: ${percent(row.sameVerdicts)}`,
  )
for (const { client, refused, others } of rows) {
  for (const one of refused) console.log(`  ${client}: ${one}`)
  for (const one of others) console.log(`  ${client}: other samples are taken by ${one}`)
}
for (const { client } of moved) console.log(`  ${client}: names differ between two starts`)
const isFine = moved.length === 0 && rows.every(({ refused, same }) => refused.length === 0 && same >= LEAST)
console.log(isFine ? 'fine' : 'NOT FINE')
process.exitCode = isFine ? 0 : 1

/** What each client is shown by one gateway that begins anew. */
async function listsOf(profiles: readonly ClientProfile[]): Promise<Tool[][]> {
  const servers = liveServers()
  const upstreams: Record<string, Awaited<ReturnType<typeof testUpstream>>> = {}
  for (const { name, tools } of servers) {
    const offered = tools.map(({ name: own, ...tool }) => [own, { ...tool, run: () => 'done' }] as const)
    upstreams[nameOf(name)] = await testUpstream({ tools: Object.fromEntries(offered) })
  }
  const specs = Object.entries(upstreams).map(
    ([name, { url }], index) => [`s${index}`, { type: 'http', url, prefix: `${name}__` }] as const,
  )
  const gateway = await testGateway({
    upstreams: {},
    config: { upstreams: Object.fromEntries(specs), lists: { pageSize: 1000 }, log: { level: 'error' } },
  })
  await everyServerListed(gateway)
  const lists: Tool[][] = []
  for (const { client } of profiles) {
    const reader = await testClient(gateway, { info: { name: client, version: '1' } })
    const { result } = await reader.request('tools/list')
    lists.push(result?.tools as Tool[])
    await reader[Symbol.asyncDispose]()
  }
  await gateway[Symbol.asyncDispose]()
  for (const server of Object.values(upstreams)) await server[Symbol.asyncDispose]()
  return lists
}

/** Name of a server as a prefix can have it. */
function nameOf(server: string): string {
  return server.replace(/[^A-Za-z0-9_-]/g, '-')
}

/** Many servers start at once, and a list waits for none of them. */
async function everyServerListed(gateway: { readonly url: string }): Promise<void> {
  const client = await testClient(gateway, { info: { name: 'tapgate', version: '1' } })
  for (let left = 50; left > 0; left--) {
    const { result } = await client.request('tools/list')
    if ((result?.tools as Tool[]).length === before.size) break
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  await client[Symbol.asyncDispose]()
}

function rowOf(profile: ClientProfile, shown: readonly Tool[]): Row {
  const names = [...before.keys()]
  const tools = shown.map((tool, index) => {
    const real = names[index] ?? ''
    const own = before.get(real)?.inputSchema ?? {}
    const isRewritten = JSON.stringify(own) !== JSON.stringify(tool.inputSchema)
    return { tool, real, isRewritten, ...compare(own, tool.inputSchema, index) }
  })
  const count = (isIt: (one: (typeof tools)[number]) => boolean): number => tools.filter(isIt).length
  return {
    client: profile.client,
    tools: shown.length,
    renamed: count(({ tool, real }) => tool.name !== real),
    rewritten: count(({ isRewritten }) => isRewritten),
    refused: [
      ...(new Set(namesOf(shown)).size === shown.length ? [] : ['two tools of one name']),
      ...(shown.length === names.length ? [] : [`${names.length - shown.length} tools are not shown`]),
      ...shown.flatMap(tool => overLimits(profile, tool)),
    ],
    same: count(({ isSame }) => isSame) / shown.length,
    sameVerdicts: count(() => true) === 0 ? 0 : sum(tools, 'agreed') / sum(tools, 'asked'),
    others: tools.filter(({ isSame }) => !isSame).map(({ real }) => real),
  }
}

function sum<K extends string>(rows: readonly Readonly<Record<K, number>>[], key: K): number {
  return rows.reduce((all, row) => all + row[key], 0)
}

/** Limits of the client that a tool is over. */
function overLimits(
  { dialect, characters, prefix, longestName = Infinity }: ClientProfile,
  tool: Tool,
): string[] {
  const { length } = prefix.replaceAll('{server}', SERVER) + tool.name
  return [
    ...(characters === 'any' || /^[A-Za-z0-9_-]+$/.test(tool.name) ? [] : [`the name ${tool.name}`]),
    ...(length > longestName ? [`the length of ${tool.name}`] : []),
    ...refusedBy(dialect, tool.inputSchema).map(why => `${tool.name}: ${why}`),
  ]
}

/** Samples that the server's own schema takes must be taken still; of spoilt ones it is counted how many are judged alike. */
function compare(
  own: JsonObject,
  fitted: JsonObject,
  seed: number,
): { isSame: boolean; asked: number; agreed: number } {
  if (JSON.stringify(own) === JSON.stringify(fitted))
    return { isSame: true, asked: SAMPLES * 2, agreed: SAMPLES * 2 }
  const random = numbers(seed + 1)
  const takesBefore = ajv.compile(plain(own) as JsonObject)
  const takesAfter = ajv.compile(plain(fitted) as JsonObject)
  let [asked, agreed, isSame] = [0, 0, true]
  for (let n = 0; n < SAMPLES; n++) {
    const sample = sampleOf(own, own, random) as JsonObject
    for (const value of [sample, spoilt(sample, random)]) {
      const [was, is] = [takesBefore(value), takesAfter(value)]
      asked++
      if (was === is) agreed++
      if (was && !is) isSame = false
    }
  }
  return { isSame, asked, agreed }
}

/** Limits as draft 4 has them, in words that ajv knows. */
function sinceDraft4(schema: JsonObject): JsonObject {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, ...rest } = schema
  const isOld = typeof exclusiveMinimum === 'boolean' || typeof exclusiveMaximum === 'boolean'
  if (!isOld) return schema
  return {
    ...rest,
    ...(minimum === undefined
      ? {}
      : { [exclusiveMinimum === true ? 'exclusiveMinimum' : 'minimum']: minimum }),
    ...(maximum === undefined
      ? {}
      : { [exclusiveMaximum === true ? 'exclusiveMaximum' : 'maximum']: maximum }),
  }
}

/** `nullable` in words that ajv knows. */
function plain(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plain)
  if (!isObject(schema)) return schema
  const { nullable, $schema: _, ...rest } = sinceDraft4(schema)
  const made = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, plain(value)]))
  return nullable === true ? { anyOf: [made, { type: 'null' }] } : made
}

function namesOf(tools: readonly Tool[] = []): string[] {
  return tools.map(({ name }) => name)
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index])
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`
}
