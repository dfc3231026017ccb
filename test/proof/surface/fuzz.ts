import type { JsonObject } from '../../../src/plugin.ts'
import { testClient, testGateway, testUpstream, type TestClient } from '../../../src/testing/index.ts'
import { liveServers, liveTasks } from '../../fixtures/live-mcp-tool/index.ts'
import type { Figure } from './figures.ts'

const HIDDEN = ['s-filesystem', 's-desktop-commander', 's-docker-mcp', 's-git', 's-memory', 's-excel']

/** Signs behind a name that is shown; one that is unknown stands without. */
const ENDS = ['(', '"', ',', '.']

/**
 * A caller who may see only a part of the servers asks so many questions, many of them about the others: of these no name comes back, by
 * search, by description or by a call.
 */
export async function fuzzed(queries: number): Promise<Figure[]> {
  const servers = liveServers()
  const upstreams = Object.fromEntries(
    await Promise.all(servers.map(async ({ name, tools }) => [slug(name), await serverOf(tools)] as const)),
  )
  const visible = Object.keys(upstreams).filter(name => !HIDDEN.includes(name))
  const config = {
    surface: { mode: 'search' },
    profiles: { part: { upstreams: visible, tools: { deny: ['*stock*', 's-arxiv*'] } } },
  }
  const gateway = await testGateway({ upstreams, config })
  const client = await testClient(`${gateway.url}/part`)
  const hidden = servers.flatMap(({ name, tools }) =>
    tools.map(tool => `${slug(name)}__${tool.name}`).filter(tool => isHidden(tool, visible)),
  )
  const words = [...liveTasks().flatMap(({ steps }) => steps), ...hidden]
  let shown = 0
  let leaks = 0
  for (let n = 0; n < queries; n++) {
    const text = await answerTo(client, n, words, hidden)
    shown += Number(/__/.test(text))
    leaks += Number(hidden.some(name => ENDS.some(end => text.includes(name + end))))
  }
  await client.close()
  await gateway[Symbol.asyncDispose]()
  await Promise.all(Object.values(upstreams).map(upstream => upstream[Symbol.asyncDispose]()))
  return [
    {
      what: `${queries} questions of a caller from whom ${hidden.length} of 527 tools are hidden: hidden names shown`,
      value: String(leaks),
      target: '0',
      isMet: leaks === 0 && shown > queries / 4,
    },
  ]
}

function serverOf(tools: ReturnType<typeof liveServers>[number]['tools']) {
  return testUpstream({
    tools: Object.fromEntries(tools.map(({ name, ...tool }) => [name, { ...tool, run: () => 'called' }])),
  })
}

function isHidden(tool: string, visible: readonly string[]): boolean {
  return (
    !visible.some(name => tool.startsWith(`${name}__`)) || /stock/.test(tool) || tool.startsWith('s-arxiv')
  )
}

let seed = 1

/** The same numbers in each run. */
function random(): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
  return seed / 2 ** 31
}

/** Asks for hidden names as they are, in parts, and in words; searches, describes and calls. */
async function answerTo(
  client: TestClient,
  n: number,
  words: readonly string[],
  hidden: readonly string[],
): Promise<string> {
  const { result, error } = await client.request('tools/call', question(n, words, hidden))
  return error?.message ?? (result?.content as { text: string }[])[0]?.text ?? ''
}

function question(n: number, words: readonly string[], hidden: readonly string[]): JsonObject {
  const name = pick(hidden)
  const [server = '', tool = ''] = name.split('__')
  if (n % 20 === 7) return { name: 'describe_tools', arguments: { names: [name, pick(hidden)] } }
  if (n % 20 === 8) return { name: pick(['call_tool', 'call_read_tool']), arguments: { name } }
  const query = [name, pick(words), `${pick(words).slice(0, 40)} ${tool}`][n % 3] ?? ''
  return { name: 'search_tools', arguments: { query, limit: 20, ...(n % 5 === 0 ? { server } : {}) } }
}

function pick(list: readonly string[]): string {
  return list[Math.floor(random() * list.length)] ?? ''
}

function slug(name: string): string {
  return `s-${name.toLowerCase().replace(/[^a-z0-9-]+/g, '-')}`.slice(0, 32)
}
