import assert from 'node:assert/strict'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Log } from '../../../src/api/index.ts'
import { UpstreamMemoryStore } from '../../../src/store/upstream-memory-store.ts'
import { createLog } from '../../../src/util/log.ts'
import { systemClock } from '../../../src/util/clock.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

interface Place {
  readonly directory: string
  readonly file: string
  readonly said: string[]
  open(more?: { fresh?: boolean }): Promise<UpstreamMemoryStore>
}

async function place(t: TestContext): Promise<Place> {
  const parent = await mkdtemp(join(tmpdir(), 'store-'))
  cleanup(t, () => rm(parent, { recursive: true, force: true }))
  const directory = join(parent, 'state', 'of-one')
  const said: string[] = []
  const log: Log = createLog({ level: 'warn', format: 'json', write: line => void said.push(line) })
  const open = (more?: object): Promise<UpstreamMemoryStore> =>
    UpstreamMemoryStore.open({ directory, log, clock: systemClock, ...more })
  return { directory, file: join(directory, 'catalogue.json'), said, open }
}

/** Writes one upstream's part and waits for the disk. */
async function kept(
  memories: UpstreamMemoryStore,
  name = 'a',
  spec = 'spec',
  value: unknown = { x: 1 },
): Promise<void> {
  memories.getMemory(name, spec).write('part', value)
  await memories.flush()
}

test('what is known of an upstream is known to the next process, for its owner alone on the disk', async t => {
  const { open, directory, file, said } = await place(t)
  await kept(await open())

  const next = await open()

  assert.deepEqual(next.getMemory('a', 'spec').read('part'), { x: 1 })
  assert.equal(next.getMemory('a', 'spec').read('other'), undefined)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.equal((await stat(directory)).mode & 0o777, 0o700)
  assert.deepEqual(await readdir(directory), ['catalogue.json'])
  assert.deepEqual(said, [])
})

test('an upstream that is configured in another way begins with nothing, and what was known of it goes', async t => {
  const { open, file } = await place(t)
  await kept(await open(), 'a', '{"env":{"TOKEN":"sk-secret"}}', 'of the old one')

  const next = await open()
  const memory = next.getMemory('a', '{"env":{"TOKEN":"sk-other"}}')
  assert.equal(memory.read('part'), undefined)
  memory.write('another part', 1)
  await next.flush()

  const text = await readFile(file, 'utf8')
  assert.doesNotMatch(text, /of the old one|sk-/)
  assert.equal((await open()).getMemory('a', '{"env":{"TOKEN":"sk-other"}}').read('another part'), 1)
})

for (const [what, text] of [
  ['garbage', 'no json at all'],
  ['half a file', '{"format":"tapgate-catalogue","version":1,"salt":"abc'],
  ['another form', '{"format":"tapgate-catalogue","version":1,"salt":"abc","upstreams":[{"name":1}]}'],
  ['an empty file', ''],
] as const) {
  test(`a file with ${what} is moved aside with one warning, and the next is written`, async t => {
    const { open, directory, file, said } = await place(t)
    await kept(await open())
    await writeFile(file, text)

    const memories = await open()

    assert.equal(memories.getMemory('a', 'spec').read('part'), undefined)
    assert.equal(said.length, 1)
    assert.match(String(said[0]), /moved aside/)
    const aside = (await readdir(directory)).find(name => name.includes('.corrupt-')) ?? assert.fail()
    assert.equal(await readFile(join(directory, aside), 'utf8'), text)
    await kept(memories, 'a', 'spec', 2)
    assert.equal((await open()).getMemory('a', 'spec').read('part'), 2)
  })
}

test('what others could have written is not believed', { skip: process.platform === 'win32' }, async t => {
  const { open, file, said } = await place(t)
  await kept(await open())
  await chmod(file, 0o666)

  assert.equal((await open()).getMemory('a', 'spec').read('part'), undefined)
  assert.match(said.join(), /writable by other users/)
})

test('a disk that takes nothing is said once, costs nothing else, and is tried again', async t => {
  const { open, directory, said } = await place(t)
  const memories = await open()
  await writeFile(join(directory, '..'), 'a file where the directory should be')
  await kept(memories)
  await kept(memories, 'a', 'spec', 2)
  assert.equal(said.length, 1)
  assert.match(String(said[0]), /saving the state file failed/)

  await rm(join(directory, '..'))
  await kept(memories, 'b', 'spec', 3)
  assert.equal((await open()).getMemory('a', 'spec').read('part'), 2)
})

test('who reads during writes finds a whole file, and no write leaves anything else behind', async t => {
  const { open, directory, file } = await place(t)
  const [one, other] = [await open(), await open()]
  const long = 'x'.repeat(1_000_000)
  await kept(one, 'a', 'spec', long)
  let reads = 0
  const writing = Promise.all(
    [one, other].map(async (memories, which) => {
      for (let nth = 0; nth < 10; nth++) await kept(memories, `${which}`, 'spec', `${nth}${long}`)
    }),
  )
  let isOver = false
  void writing.then(() => (isOver = true))
  while (!isOver) {
    assert.equal((JSON.parse(await readFile(file, 'utf8')) as { version: number }).version, 1)
    reads++
  }
  assert.ok(reads > 2)
  assert.deepEqual(await readdir(directory), ['catalogue.json'])
})

test('two gateways of one configuration keep what the other has learnt', async t => {
  const { open } = await place(t)
  await kept(await open(), 'both', 'spec', 0)
  const [one, other] = [await open(), await open()]
  for (const memories of [one, other])
    for (const name of ['a', 'b', 'both']) memories.getMemory(name, 'spec').read('part')
  await kept(one, 'a', 'spec', 1)
  await kept(other, 'b', 'spec', 2)

  const next = await open()
  assert.deepEqual(
    ['a', 'b', 'both'].map(name => next.getMemory(name, 'spec').read('part')),
    [1, 2, 0],
  )
})

test('a fresh start knows nothing, and replaces what was there', async t => {
  const { open } = await place(t)
  await kept(await open(), 'a')
  const fresh = await open({ fresh: true })
  assert.equal(fresh.getMemory('a', 'spec').read('part'), undefined)
  await kept(fresh, 'b')

  assert.equal((await open()).getMemory('a', 'spec').read('part'), undefined)
})
