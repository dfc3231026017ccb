import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openQuotas, type DayQuotas } from '../../../../plugins/rate-limit/day-quotas.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const NOON = Date.UTC(2026, 6, 28, 12)
const MAX = 4000
const QUOTA = new URL('../../../../plugins/rate-limit/day-quotas.ts', import.meta.url).href

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'reserved-'))
  cleanup(t, () => rmSync(path, { recursive: true, force: true }))
  return path
}

function opened(t: TestContext, directory: string): DayQuotas {
  const quotas = openQuotas(directory)
  cleanup(t, () => {
    try {
      quotas.close()
    } catch {
      // The test has closed it.
    }
  })
  return quotas
}

function taken(quotas: DayQuotas, times: number, max = MAX): number {
  let count = 0
  for (let call = 0; call < times; call++) if (quotas.countCall('r', 'alice', max, NOON)) count++
  return count
}

test('what one process has reserved and not used is there for another once it is given back', t => {
  const directory = folder(t)
  const [one, other] = [opened(t, directory), opened(t, directory)]
  assert.equal(taken(one, 10), 10)
  one.returnReserved()
  assert.equal(taken(other, MAX), MAX - 10)
  assert.equal(taken(one, 5), 0)
})

test('two processes that count at a time let no more in than the quota, and all of it', t => {
  const directory = folder(t)
  const [one, other] = [opened(t, directory), opened(t, directory)]
  let count = 0
  for (let call = 0; call < MAX; call++) count += taken(call % 3 === 0 ? one : other, 1)
  assert.ok(count <= MAX)
  one.returnReserved()
  other.returnReserved()
  count += taken(one, MAX)
  assert.equal(count, MAX)
})

test('a reservation of yesterday, or under another limit, counts for nothing today', t => {
  const quotas = opened(t, folder(t))
  taken(quotas, 5)
  const tomorrow = NOON + 86_400_000
  let count = 0
  while (quotas.countCall('r', 'alice', 1500, tomorrow)) count++
  assert.equal(count, 1500)
})

for (const calls of [3, 257, 700])
  test(`a process that is killed after ${calls} calls has used ${calls}, and leaves nothing behind`, async t => {
    const directory = folder(t)
    const script = `
      const { openQuotas } = await import(${JSON.stringify(QUOTA)})
      const quotas = openQuotas(${JSON.stringify(directory)})
      for (let call = 0; call < ${calls}; call++) quotas.countCall('r', 'alice', ${MAX}, ${NOON})
      console.log('done')
      // Held: what nobody refers to is collected, and its lock with it.
      setInterval(() => quotas, 1000)`
    const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script]
    const child = spawn(process.execPath, flags, {
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: fileURLToPath(new URL('.', import.meta.url)),
    })
    cleanup(t, () => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')

    const living = opened(t, directory)
    // While it lives, what it has reserved is its own.
    assert.equal(living.hasCapacity('r', 'alice', MAX, NOON), true)
    const before = readdirSync(directory).filter(name => name.endsWith('.lock')).length
    assert.equal(before, calls > 1 ? 1 : 0)
    living.close()

    child.kill('SIGKILL')
    await once(child, 'exit')
    const next = opened(t, directory)
    assert.equal(taken(next, MAX + 10), MAX - calls)
    next.close()
    assert.deepEqual(
      readdirSync(directory).filter(name => /\.(lock|used)$/.test(name)),
      [],
    )
  })

test('a killed process whose notes are gone is taken to have used all that it had reserved', async t => {
  const directory = folder(t)
  const script = `
    const { openQuotas } = await import(${JSON.stringify(QUOTA)})
    const quotas = openQuotas(${JSON.stringify(directory)})
    for (let call = 0; call < 3; call++) quotas.countCall('r', 'alice', ${MAX}, ${NOON})
    process.kill(process.pid, 'SIGKILL')`
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script]
  await once(spawn(process.execPath, flags, { stdio: 'inherit' }), 'exit')
  for (const name of readdirSync(directory)) if (name.endsWith('.used')) rmSync(join(directory, name))
  assert.equal(taken(opened(t, directory), MAX), MAX - 257)
})
