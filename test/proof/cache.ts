/** Shows that the cache gives nobody what is not theirs, and asks once for many. `npm run proof -- cache`; about half a minute. */
import { createGateway } from '../../src/index.ts'
import type { Plugin } from '../../src/plugin.ts'
import { prepareRealServers } from '../peers/real-servers.ts'
import { interleave } from './cache/interleavings.ts'

const AT_ONCE = 100
const TURNS = 10_000
const SEED = Number(process.env.SEED ?? 4)

const passed = [await coalesced(), await interleaved()]
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

async function interleaved(): Promise<boolean> {
  const { turns, upstreamCalls, reloads, callers, foreign } = await interleave(SEED, TURNS)
  for (const problem of foreign.slice(0, 10)) console.log(`      ${problem}`)
  const what = `${turns} requests of ${callers} callers, ${reloads} reloads, ${upstreamCalls} calls upstream: foreign answers`
  return row(what, String(foreign.length), foreign.length === 0)
}
