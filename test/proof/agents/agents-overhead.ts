// Measures what the gateway's way to an agent costs: a warm turn, against the ACP SDK's client on the very same agent, and cold against warm.
// node test/proof/agents/agents-overhead.ts [turns]
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk'
import { Places } from '../../../plugins/agents/processes/process-quota.ts'
import { AgentPool } from '../../../plugins/agents/processes/pool.ts'
import { settingsOf } from '../../../plugins/agents/settings.ts'
import { createGateway, type Plugin } from '../../../src/index.ts'
import type { PluginApi } from '../../../src/plugin.ts'

const AGENT = fileURLToPath(new URL('../../fixtures/acp/agent.ts', import.meta.url))
const TURNS = Number(process.argv[2] ?? 500)
const ROUNDS = 5
const PROMPT = [{ type: 'text' as const, text: '[[say hello]]' }]

let api: PluginApi | undefined
const plugin: Plugin = { name: 'keeps-its-api', setup: given => void (api = given) }
const directory = await mkdtemp(join(tmpdir(), 'agents-overhead-'))
const gateway = await createGateway({}, { plugins: [plugin], directory })
await gateway.start()
const awake = setInterval(() => undefined, 1000)

function ownPool(): AgentPool {
  if (api === undefined) throw new Error('the gateway has not started')
  const { programs, clock, log } = api
  const own = { command: process.execPath, args: [AGENT], priority: 0, capabilities: [] }
  const settings = settingsOf('agent', { ...own, pool: { maxTurns: 100_000 } })
  const places = new Places(4)
  return new AgentPool({
    ...{ settings, programs, clock, log, directory, places },
    ...{ state: undefined, commands: undefined, version: '0' },
  })
}

interface Way {
  turn(): Promise<unknown>
  end(): Promise<unknown>
}

async function ours(): Promise<Way> {
  const pool = ownPool()
  const side = {
    update: () => undefined,
    permission: () => Promise.resolve('cancelled' as const),
    handlers: new Map(),
  }
  const session = await pool.open({ cwd: directory, mcpServers: [], side })
  return { turn: () => session.prompt(PROMPT), end: () => pool.stop() }
}

async function sdk(): Promise<Way> {
  const child = spawn(process.execPath, [AGENT], { stdio: ['pipe', 'pipe', 'inherit'] })
  const stream = ndJsonStream(
    Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  )
  const app = client({ name: 'overhead' }).onNotification(methods.client.session.update, () => undefined)
  const { agent } = app.connect(stream)
  await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} })
  const opened = await agent.request(methods.agent.session.new, { cwd: directory, mcpServers: [] })
  const { sessionId } = opened as { sessionId: string }
  return {
    turn: () => agent.request(methods.agent.session.prompt, { sessionId, prompt: PROMPT }),
    end: () =>
      new Promise(resolve => {
        child.once('exit', resolve)
        child.stdin.end()
      }),
  }
}

async function perTurn({ turn }: Way): Promise<number> {
  const began = performance.now()
  for (let count = 0; count < TURNS; count++) await turn()
  return (performance.now() - began) / TURNS
}

const middle = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const figure = (ms: number): string => `${ms.toFixed(3)} ms`

const [one, other] = [await ours(), await sdk()]
await perTurn(one)
await perTurn(other)
const times: { ours: number[]; sdk: number[] } = { ours: [], sdk: [] }
// Side by side, so that whatever else the machine does hits both.
for (let round = 0; round < ROUNDS; round++) {
  times.ours.push(await perTurn(one))
  times.sdk.push(await perTurn(other))
}
await other.end()

const cold: number[] = []
const warm: number[] = []
for (let round = 0; round < ROUNDS; round++) {
  const pool = ownPool()
  for (const list of [cold, warm]) {
    const side = {
      update: () => undefined,
      permission: () => Promise.resolve('cancelled' as const),
      handlers: new Map(),
    }
    const began = performance.now()
    const session = await pool.open({ cwd: directory, mcpServers: [], side })
    await session.prompt(PROMPT)
    list.push(performance.now() - began)
    await session.close()
  }
  await pool.stop()
}
await one.end()
await gateway.close()
await rm(directory, { recursive: true, force: true })
clearInterval(awake)

const mine = middle(times.ours)
const theirs = middle(times.sdk)
console.log(
  `a warm turn: ours ${figure(mine)}, the SDK's client ${figure(theirs)}, ratio ${(mine / theirs).toFixed(2)}`,
)
console.log(
  `session and first turn: cold ${figure(middle(cold))}, warm ${figure(middle(warm))}, ratio ${(middle(cold) / middle(warm)).toFixed(0)}`,
)
