import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { closeAfter, testClient, testUpstream } from '../../../src/testing/index.ts'
import { processesWith } from '../../fixtures/processes.ts'
import { directory, gateway } from '../cli/run.ts'
import { everything, skipOne, twoWorkers, until, placeOf, type Running } from './setting.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const ECHO = { name: 'test_echo', arguments: { message: 'hello' } }

/** A legacy client of each worker, by the worker's number. */
async function sessionsOf({
  url,
  ps,
}: Running): Promise<Map<number, Awaited<ReturnType<typeof testClient>>>> {
  const found = new Map<number, Awaited<ReturnType<typeof testClient>>>()
  await until(async () => {
    const client = await testClient(url, { era: 'legacy' })
    const place = placeOf(client.initialized?.headers['mcp-session-id'])
    const { workers } = await ps()
    const number = workers.find(({ load }) => load.replica === place)?.worker ?? 0
    if (found.has(number)) await client.close()
    else found.set(number, client)
    await skipOne(url)
    return found.size === 2
  })
  return found
}

test('two workers live and die as one gateway', async t => {
  let release = (): void => undefined
  const held = new Promise<void>(resolve => (release = resolve))
  const web = await testUpstream({ tools: { hold: () => held.then(() => 'held'), quick: () => 'at once' } })
  cleanup(t, () => web.stop())
  const config = (deny: string, plugin: string): string =>
    JSON.stringify({
      version: 1,
      listeners: { main: { type: 'http', port: 0 } },
      upstreams: {
        all: everything('dual', { prefix: '' }),
        own: everything('dual', { isolation: 'session', start: 'lazy' }),
        web: { type: 'http', url: web.url, prefix: '' },
      },
      filters: { tools: { deny: [deny] } },
      plugins: { picky: { use: plugin } },
    })
  const says = (text: string): string => `export default { name: 'picky', setup() { ${text} } }`
  // Only the second of the processes that load it refuses, also of two that do so at the same time.
  const second = "try { fs.writeFileSync('seen', '', { flag: 'wx' }) } catch { throw new Error('not here') }"
  const running = await twoWorkers(t, JSON.parse(config('none', './fine.mjs')) as object, {
    files: { 'fine.mjs': says(''), 'picky.mjs': `import fs from 'node:fs'\n${says(second)}` },
  })
  const { cwd, url } = running
  const shown = async (): Promise<number[]> => {
    const found: number[] = []
    for (let turn = 0; turn < 4; turn++) {
      // One of the servers keeps state for each session: single modern requests are offered that.
      const client = closeAfter(t, await testClient(url, { era: 'legacy' }))
      const { result } = await client.request('tools/list')
      found.push((result?.['tools'] as { name: string }[]).filter(({ name }) => name === 'test_echo').length)
    }
    return found
  }

  await t.test('sessions of an isolated server have a process each, whatever worker they are at', async t => {
    for (const client of (await sessionsOf(running)).values()) {
      closeAfter(t, client)
      for (let turn = 0; turn < 3; turn++)
        await client.request('tools/call', { ...ECHO, name: 'own__test_echo' })
    }
    const { upstreams } = await running.ps()
    const own = upstreams.find(({ name }) => name === 'own')
    assert.equal(own?.runtime?.instances.length, 3, 'one that all share for lists, and two')
  })

  await t.test('a worker that is killed takes its own sessions with it, and nothing else', async t => {
    const sessions = await sessionsOf(running)
    for (const client of sessions.values()) closeAfter(t, client)
    const before = await running.ps()
    const victim = before.workers[0]
    assert.ok(victim)

    process.kill(victim.pid, 'SIGKILL')
    await running.logged('a worker has ended; another process takes its place')
    const other = await sessions.get(2)?.request('tools/call', ECHO)
    assert.equal(other?.status, 200, 'the other worker goes on')
    await until(async () => {
      const now = (await running.ps()).workers[0]
      return now?.ready === true && now.pid !== victim.pid
    })

    const lost = await sessions.get(1)?.request('tools/call', ECHO)
    assert.equal(lost?.status, 404, 'its client is told to begin anew')
    for (const client of (await sessionsOf(running)).values()) {
      closeAfter(t, client)
      assert.equal((await client.request('tools/call', ECHO)).status, 200)
    }
    const shared = async (): Promise<unknown> =>
      (await running.ps()).upstreams.find(({ name }) => name === 'all')?.runtime?.instances
    assert.deepEqual(
      await shared(),
      before.upstreams[0]?.runtime?.instances,
      'the server has noticed nothing',
    )
  })

  await t.test('a configuration is in force in all workers, or in none', async () => {
    await writeFile(join(cwd, 'gateway.yaml'), config('test_echo', './picky.mjs'))
    const refused = await gateway(['reload'], { cwd })
    assert.notEqual(refused.code, 0)
    assert.match(refused.stderr, /picky.*not here/)
    // Each session is still found from the other worker: neither has lost its place in the directory.
    for (const client of (await sessionsOf(running)).values()) {
      closeAfter(t, client)
      for (let turn = 0; turn < 4; turn++)
        assert.equal((await client.request('tools/call', { name: 'quick', arguments: {} })).status, 200)
    }
    assert.deepEqual(await shown(), [1, 1, 1, 1], 'nobody has it')

    await writeFile(join(cwd, 'gateway.yaml'), config('test_echo', './fine.mjs'))
    running.child.kill('SIGHUP')
    await running.logged('configuration reloaded')
    assert.deepEqual(await shown(), [0, 0, 0, 0], 'all have it')
  })

  await t.test('what is under way ends before the gateway does, whichever worker it came to', async t => {
    const calls = [...(await sessionsOf(running)).values()].flatMap(client => {
      closeAfter(t, client)
      return [1, 2].map(() => client.request('tools/call', { name: 'hold', arguments: {} }))
    })
    await until(() => web.calls.filter(({ params }) => params?.name === 'hold').length === calls.length)

    running.child.kill('SIGTERM')
    await running.logged('stopping; a second signal stops at once')
    release()

    const answers = await Promise.all(calls)
    assert.deepEqual(
      answers.map(({ status, error }) => [status, error]),
      calls.map(() => [200, undefined]),
    )
    assert.equal(await running.exit, 0)
  })
})

test('nothing is left when the primary is killed', { skip: process.platform !== 'linux' }, async t => {
  const cookie = `workers-${process.pid}-${Date.now()}`
  const running = await twoWorkers(
    t,
    { upstreams: { all: everything('dual', { prefix: '', env: { WORKERS_COOKIE: cookie } }) } },
    { env: { WORKERS_COOKIE: cookie } },
  )
  assert.equal(processesWith(cookie).filter(({ command }) => !command.includes('guardian')).length, 4)

  running.child.kill('SIGKILL')

  await until(() => processesWith(cookie).length === 0, 10_000)
})

test('when all workers die at once, the next ones are at the same port, through reloads', async t => {
  const config = (deny: string): object => ({
    upstreams: { all: everything('dual', { prefix: '' }) },
    filters: { tools: { deny: [deny] } },
  })
  const running = await twoWorkers(t, config('none'))
  const { cwd, url, ps } = running
  const call = async (): Promise<void> => {
    for (let turn = 0; turn < 4; turn++) {
      const client = await testClient(url, { era: 'legacy' })
      assert.equal((await client.request('tools/call', ECHO)).status, 200)
      await client.close()
    }
  }

  for (const [round, whole] of [config('none'), config('nobody')].entries()) {
    const { workers } = await ps()
    for (const { pid } of workers) process.kill(pid, 'SIGKILL')
    await until(async () => (await ps()).workers.every(({ restarts, ready }) => restarts > round && ready))
    await call()

    const listeners = { main: { type: 'http', port: 0 } }
    await writeFile(join(cwd, 'gateway.yaml'), JSON.stringify({ version: 1, listeners, ...whole }))
    assert.equal((await gateway(['reload'], { cwd })).code, 0)
    await call()
  }
})

test('what only one process can do is refused with --workers', async t => {
  const limits = { connections: 1 }
  const whole = { version: 1, listeners: { main: { type: 'http', port: 0, limits } }, upstreams: {} }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(whole) })

  const { code, stderr } = await gateway(['serve', '--workers', '2'], { cwd })

  assert.equal(code, 3)
  assert.match(stderr, /GW_WORKERS.*limits\.connections is less than one for each worker/)
})
