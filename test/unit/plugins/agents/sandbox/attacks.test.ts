import assert from 'node:assert/strict'
import { existsSync, lstatSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientSide } from '../../../../../plugins/agents/sandbox/client-side.ts'
import { RequestRefused } from '../../../../../plugins/agents/sandbox/terminals.ts'
import { GatewayError, RPC } from '../../../../../src/plugin.ts'
import { clientOptions } from './kit.ts'
import { asked, aWorld, NOWHERE, pathsOf, plant, snapshot, type World } from './world.ts'

test('no path leads out of the roots: cwd, files, and what the agent reads and writes', async t => {
  const world = await aWorld(t)
  plant(world)
  const { roots, root, outside, twin } = world
  const { handlers } = await clientSide(clientOptions(root, { readFiles: true, writeFiles: true }))
  const before = [outside, twin].map(snapshot)
  const ways: Record<string, (path: string) => Promise<unknown>> = {
    cwd: path => roots.directory(path),
    files: path => roots.file(path, root),
    read: path => asked(handlers, 'fs/read_text_file', { path }),
    write: path => asked(handlers, 'fs/write_text_file', { path, content: 'owned' }),
  }
  let count = 0
  const escapes: string[] = []
  for (const path of pathsOf(world)) {
    for (const [way, attack] of Object.entries(ways)) {
      count++
      const got = await attack(path).catch((error: unknown) => error)
      if (isHarmless(world, way, got)) continue
      escapes.push(`${way} ${JSON.stringify(path).slice(0, 200)} → ${JSON.stringify(got)}`)
    }
  }

  t.diagnostic(`${count} attacks, ${escapes.length} escapes`)
  assert.deepEqual(escapes, [])
  assert.ok(count >= 200, `${count} attacks`)
  assert.deepEqual([outside, twin].map(snapshot), before)
  assert.equal(existsSync(join(outside, NOWHERE)), false)
})

/** Refused, or something of the root's own. */
function isHarmless({ root, roots }: World, way: string, got: unknown): boolean {
  if (got instanceof RequestRefused)
    return got.code === RPC.invalidParams || got.code === RPC.legacyNoResource
  if (got instanceof Error) return got instanceof GatewayError && got.code === 'GW_AGENT_PATH'
  if (typeof got === 'string')
    return (
      roots.contains(got) && realpathSync(got) === got && lstatSync(got).isDirectory() === (way === 'cwd')
    )
  if (way === 'read') return (got as { content: string }).content === 'fine'
  // Files that were written are in the root: everything else is compared with what was there before.
  return way === 'write' && existsSync(root)
}

test('attacks on paths say the same whether something is there or not', async t => {
  const { roots, root, outside } = await aWorld(t)
  const said = async (path: string): Promise<string> => {
    const error: unknown = await roots.file(path, root).catch((thrown: unknown) => thrown)
    return error instanceof GatewayError ? error.message.replace(path, '…') : 'no error'
  }

  for (const [there, missing] of [
    [`${outside}/secret`, `${outside}/nothing`],
    [`${outside}/deep/../../work/fine`, `${outside}/nothing/../../work/fine`],
    [`${outside}/secret/x`, `${outside}/nothing/x`],
    [`${root}/../outside/deep/secret`, `${root}/../outside/deep/nothing`],
  ] as const)
    assert.equal(await said(there), await said(missing))
})
