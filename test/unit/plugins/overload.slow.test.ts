import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { test } from 'node:test'
import { cleanup } from '../../fixtures/cleanup.ts'

test('a gateway near its heap limit answers 503 at once, does not die, and takes requests again', async t => {
  const program = join(import.meta.dirname, '../fixtures/full-gateway.ts')
  const child = spawn(
    process.execPath,
    ['--max-old-space-size=256', '--disable-warning=ExperimentalWarning', program],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  cleanup(t, () => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const say = async (what: string): Promise<string> => {
    child.stdin.write(`${what}\n`)
    return String((await lines.next()).value)
  }
  const url = await say('listen')
  const call = async (): Promise<{
    status: number
    after: string | null
    close: string | null
    ms: number
  }> => {
    const began = performance.now()
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const reply = await fetch(url, { method: 'POST', headers, body })
    await reply.text()
    const [after, close] = [reply.headers.get('retry-after'), reply.headers.get('connection')]
    return { status: reply.status, after, close, ms: performance.now() - began }
  }
  const until = async (status: number): Promise<number> => {
    const began = performance.now()
    while (((await call()).status === 503) !== (status === 503))
      if (performance.now() - began > 20_000) throw new Error(`no ${status}`)
      else await new Promise(resolve => setTimeout(resolve, 100))
    return performance.now() - began
  }
  // The call is served: without a session that is a 400.
  assert.equal((await call()).status, 400)

  await say('fill')
  await until(503)
  const refused = await Promise.all(Array.from({ length: 20 }, call))
  const alive = await fetch(new URL('/livez', url))
  await say('free')
  const recovered = await until(400)

  for (const { status, after } of refused) assert.deepEqual([status, after], [503, '2'])
  t.diagnostic(`slowest refusal of 20 at once ${Math.max(...refused.map(({ ms }) => ms)).toFixed(0)} ms`)
  t.diagnostic(`recovered after ${recovered.toFixed(0)} ms`)
  assert.ok(refused.every(({ close }) => close === 'close'))
  assert.equal(alive.status, 200)
  assert.ok(recovered <= 10_000)
  assert.equal(child.exitCode, null)
  child.stdin.end()
  await once(child, 'exit')
})
