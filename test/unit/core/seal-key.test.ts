import assert from 'node:assert/strict'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Seal } from '../../../src/core/seal.ts'
import { loadSealKey } from '../../../src/gateway/generation.ts'
import { SILENT } from '../plugins/install.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

async function place(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'seal-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  return join(directory, 'state')
}

function warned(): { log: typeof SILENT; said: string[] } {
  const said: string[] = []
  return { log: { ...SILENT, warn: (_message, fields) => void said.push(String(fields?.why)) }, said }
}

test('what one run has sealed the next can open, and nobody else can read the key', async t => {
  const directory = await place(t)
  const sealed = new Seal(await loadSealKey({ directory, log: SILENT })).sealWithExpiry(60_000, 'task', 'ada')

  const next = new Seal(await loadSealKey({ directory, log: SILENT }))

  assert.equal(next.openWithExpiry(sealed, 'ada'), 'task')
  assert.equal(next.openWithExpiry(sealed, 'bob'), undefined)
  assert.equal((await stat(join(directory, 'seal.key'))).mode & 0o777, 0o600)
  assert.equal((await stat(directory)).mode & 0o777, 0o700)
  assert.deepEqual(await readdir(directory), ['seal.key'])
})

test('processes that begin together agree on one key', async t => {
  const directory = await place(t)

  const keys = await Promise.all(Array.from({ length: 20 }, () => loadSealKey({ directory, log: SILENT })))

  assert.equal(new Set(keys.map(key => key.toString('hex'))).size, 1)
  assert.deepEqual(await readdir(directory), ['seal.key'])
})

test('who begins afresh has another key, also for those who come after', async t => {
  const directory = await place(t)
  const before = await loadSealKey({ directory, log: SILENT })

  const fresh = await loadSealKey({ directory, fresh: true, log: SILENT })

  assert.notDeepEqual(fresh, before)
  assert.deepEqual(await loadSealKey({ directory, log: SILENT }), fresh)
})

test('a key that others could have read, or that is none, is not used, and nothing is overwritten', async t => {
  const directory = await place(t)
  const before = await loadSealKey({ directory, log: SILENT })
  const file = join(directory, 'seal.key')
  await chmod(file, 0o644)
  const { log, said } = warned()

  assert.notDeepEqual(await loadSealKey({ directory, log }), before)
  await chmod(file, 0o600)
  await writeFile(file, 'short')
  assert.equal((await loadSealKey({ directory, log })).length, 32)

  assert.deepEqual(said, ['it is readable by other users', 'it is not 32 bytes long'])
  assert.equal(await readFile(file, 'utf8'), 'short')
})

test('what is sealed for a time is closed when that is over', () => {
  let now = 1000
  const seal = new Seal(undefined, () => now)
  const sealed = seal.sealWithExpiry(500, { a: 1 }, 'x')

  assert.deepEqual(seal.openWithExpiry(sealed, 'x'), { a: 1 })
  assert.equal(seal.openValue(sealed, 'x'), undefined)
  now = 1501
  assert.equal(seal.openWithExpiry(sealed, 'x'), undefined)
})
