import assert from 'node:assert/strict'
import { test } from 'node:test'
import { result, type FakeGate } from './http/fake-gate.ts'
import { initialize, legacy, send, type Message } from './http/client.ts'
import { serveAll, type Served } from './http/network.ts'
import { until } from '../../fixtures/until.ts'

const MIB = 1024 * 1024
const TEXT = 'x'.repeat(4 * MIB)
const LARGE = 8
/** As many as 16 MiB have room for. */
const KEPT = 3

/** A batch whose first request is slow, so that the answers of the others wait for it. */
const BATCH = [
  { jsonrpc: '2.0', id: 'slow', method: 'slow/one' },
  ...Array.from({ length: LARGE }, (_, id) => ({ jsonrpc: '2.0', id, method: 'large' })),
]

type Batch = () => Promise<Message[]>

async function open({ at }: Served): Promise<Batch> {
  const url = at('/mcp')
  const { headers } = legacy(await initialize(url), {})
  return async () => (await send(url, { headers, body: JSON.stringify(BATCH) })).json as unknown as Message[]
}

/** Runs a batch: its slow request ends once the others have run. */
async function run(gate: FakeGate, batch: Batch): Promise<Message[]> {
  const before = gate.seen.length
  const slow = gate.next('slow/one')
  const answers = batch()
  const seen = await slow
  await until(() => gate.seen.length === before + BATCH.length, 'all requests of the batch ran')
  // By the next turn of the loop each answer is kept.
  await new Promise(resolve => setImmediate(resolve))
  seen.resolve(result({}))
  return answers
}

function sorted(answers: readonly Message[]): { whole: Message[]; leftOut: Message[] } {
  const whole = answers.filter(({ result }) => result?.text === TEXT)
  return { whole, leftOut: answers.filter(({ error }) => error !== undefined) }
}

test('answers of a batch that wait for the last one are no more than 16 MiB', async t => {
  const served = await serveAll(t)
  const { gate } = served
  gate.answering = ({ inbound }) =>
    inbound.method === 'slow/one' ? undefined : result(inbound.method === 'large' ? { text: TEXT } : {})
  const batch = await open(served)

  for (const round of ['the first', 'one after it']) {
    const answers = await run(gate, batch)
    const { whole, leftOut } = sorted(answers)

    assert.equal(answers.length, BATCH.length, round)
    assert.equal(whole.length, KEPT, round)
    assert.equal(leftOut.length, LARGE - KEPT, round)
    assert.match(leftOut[0]?.error?.message ?? '', /omitted.*send it separately/)
  }
})
