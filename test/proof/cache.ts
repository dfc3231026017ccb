/** Shows what the cache is worth, and that it gives nobody what is not theirs. `npm run proof -- cache`; about half a minute. */
import { createGateway } from '../../src/index.ts'
import type { Plugin } from '../../src/plugin.ts'
import { LAUNCHER, requireBuild, writeConfig } from '../peers/gateway.ts'
import { prepareRealServers } from '../peers/real-servers.ts'
import { benchFile, Children, type Load } from '../bench/setup/children.ts'
import type { Ask, Measured } from '../bench/load/messages.ts'
import { listeningIn } from '../bench/setup/workshop.ts'
import { interleave } from './cache/interleavings.ts'
import { echoes } from './cache/real-server.ts'

const AT_ONCE = 100
const TURNS = 10_000
const SEED = Number(process.env.SEED ?? 4)

requireBuild()
const passed = [await coalesced(), await ratios(), await interleaved()]
if (passed.includes(false)) process.exitCode = 1

function row(what: string, figure: string, holds: boolean): boolean {
  console.log(`${holds ? 'PASS' : 'FAIL'}  ${what.padEnd(72)} ${figure}`)
  return holds
}

/** Identical calls at the same time, to a published server in a process of its own. */
async function coalesced(): Promise<boolean> {
  const servers = await prepareRealServers()
  const { memory } = servers.upstreams
  let calls = 0
  const counting: Plugin<never> = {
    name: 'counting',
    setup({ hooks }) {
      // Set up last, so the innermost: what it sees goes to the server.
      hooks.dispatch.tap(next => call => {
        if (call.method === 'tools/call') calls++
        return next(call)
      })
    },
  }
  const cache = { tools: { memory__read_graph: '1m' } }
  const gateway = await createGateway({ upstreams: { memory }, cache }, { plugins: [counting] })
  try {
    const clients = await Promise.all(Array.from({ length: AT_ONCE }, () => gateway.connect()))
    await clients[0]?.request('tools/list')
    const call = { name: 'memory__read_graph', arguments: {} }
    const answers = await Promise.all(clients.map(client => client.request('tools/call', call)))
    const isWhole = answers.every(({ content }) => JSON.stringify(content).includes('entities'))
    const what = `${AT_ONCE} identical calls at once to server-memory: calls that reached it`
    return row(what, String(calls), calls === 1 && isWhole)
  } finally {
    await gateway.close()
    await servers.remove()
  }
}

/** A list of 1,000 tools and a call, from the cache of a gateway in its own process, beside the server asked directly. */
async function ratios(): Promise<boolean> {
  const children = new Children()
  const url = await children.start([benchFile('peers/server-http.ts')], text => /^(http:\S+)\n/m.exec(text)?.[1])
  const whole = `${url.found}/1000/all_`
  const { file, remove } = await writeConfig({
    version: 1,
    log: { format: 'json' },
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: { up: { type: 'http', url: whole } },
    cache: { tools: { up__kb10: '1h' } },
  })
  try {
    const gateway = await children.start([LAUNCHER, 'serve', '--config', file], listeningIn)
    const load = children.load()
    for (const era of ['legacy', 'modern'] as const) {
      const list: Ask = { era, method: 'tools/list' }
      await compare(load, `tools/list of 1,000 tools, ${era}`, [whole, list], [gateway.found, list])
      const direct: Ask = { era, method: 'tools/call', tool: 'kb10' }
      const kept: Ask = { era, method: 'tools/call', tool: 'up__kb10' }
      await compare(load, `tools/call with a result of 10 KB, ${era}`, [whole, direct], [gateway.found, kept])
    }
  } finally {
    await children.stop()
    await remove()
  }
  const { direct, hit } = await echoes()
  console.log(`      ${'echo of server-everything, SDK client on both'.padEnd(72)} ${figures(hit, direct)}`)
  return hit < direct
}

async function compare(load: Load, what: string, direct: [string, Ask], kept: [string, Ask]): Promise<void> {
  const [from, through] = [await measured(load, ...direct), await measured(load, ...kept)]
  console.log(`      ${what.padEnd(72)} ${figures(through.p50, from.p50)}`)
}

function figures(hit: number, direct: number): string {
  return `hit ${hit.toFixed(3)} ms, direct ${direct.toFixed(3)} ms, ratio ${(hit / direct).toFixed(2)}`
}

function measured(load: Load, url: string, ask: Ask): Promise<Measured> {
  const cell = { target: { url }, ask, concurrency: 1, warmMs: 500, warmCalls: 500, ms: 1500, pid: undefined }
  return load.measure(cell)
}

async function interleaved(): Promise<boolean> {
  const { turns, upstreamCalls, reloads, callers, foreign } = await interleave(SEED, TURNS)
  for (const problem of foreign.slice(0, 10)) console.log(`      ${problem}`)
  const what = `${turns} requests of ${callers} callers, ${reloads} reloads, ${upstreamCalls} calls upstream: foreign answers`
  return row(what, String(foreign.length), foreign.length === 0)
}
