import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientSide } from '../../../../../plugins/agents/sandbox/client-side.ts'
import { OpenDirectory, openFile } from '../../../../../plugins/agents/sandbox/files.ts'
import { clientOptions } from './kit.ts'
import { asked, aWorld, SECRET, snapshot } from './world.ts'

test('what is swapped between the look and the opening is not read or written', async t => {
  const { root, outside, roots } = await aWorld(t)
  const swaps: [string, () => void][] = [
    ['fine', () => swap(join(root, 'fine'), join(outside, 'secret'))],
    ['sub/fine', () => swap(join(root, 'sub'), join(outside, 'deep'))],
    ['sub/secret', () => undefined],
  ]
  mkdirSync(join(outside, 'deep', 'inner'))
  for (const [name, change] of swaps) {
    const place = await roots.place('path', join(root, name)).catch(() => undefined)
    change()
    await assert.rejects(openFile(place?.real ?? join(root, name)), { code: 'GW_AGENT_PATH' })
  }
  // `sub` is a link now.
  await assert.rejects(OpenDirectory.open(join(root, 'sub')), { code: 'GW_AGENT_PATH' })
  await assert.rejects(OpenDirectory.open(join(root, 'sub', 'inner')), { code: 'GW_AGENT_PATH' })
})

test('a directory that is swapped while it is open is written to, and not what took its place', async t => {
  const { root, outside } = await aWorld(t)
  const directory = await OpenDirectory.open(join(root, 'sub'))
  swap(join(root, 'sub'), join(outside, 'deep'))

  if (existsSync('/proc/self/fd')) writeFileSync(directory.entry('new'), 'x')
  await assert.rejects(directory.within('inner'), { code: 'GW_AGENT_PATH' })
  await directory.close()

  assert.deepEqual(readdirSync(join(outside, 'deep')), ['secret'])
})

test('a race of swaps against reads and writes leaks nothing and writes nothing outside', async t => {
  const { root, outside } = await aWorld(t)
  const { handlers } = await clientSide(clientOptions(root, { readFiles: true, writeFiles: true }))
  const before = snapshot(outside)
  symlinkSync(join(outside, 'deep'), join(root, 'evil'))
  writeFileSync(join(root, 'sub', 'secret'), 'fine')
  const results: unknown[] = []
  for (let turn = 0; turn < 150; turn++) {
    const path = join(root, 'sub', turn % 2 === 0 ? 'secret' : `new-${turn}`)
    const method = turn % 2 === 0 ? 'fs/read_text_file' : 'fs/write_text_file'
    const call = asked(handlers, method, { path, content: 'owned' }).catch((error: unknown) => error)
    // Each turn of the loop is another moment of the call.
    for (let moment = 0; moment < turn % 12; moment++) await new Promise(setImmediate)
    renameSync(join(root, 'sub'), join(root, 'kept'))
    renameSync(join(root, 'evil'), join(root, 'sub'))
    results.push(await call)
    renameSync(join(root, 'sub'), join(root, 'evil'))
    renameSync(join(root, 'kept'), join(root, 'sub'))
  }

  assert.ok(!JSON.stringify(results).includes(SECRET))
  assert.deepEqual(snapshot(outside), before)
  assert.ok(
    results.some(result => result instanceof Error),
    'those that were swapped at once',
  )
})

function swap(path: string, target: string): void {
  renameSync(path, `${path}-kept`)
  symlinkSync(target, path)
}
