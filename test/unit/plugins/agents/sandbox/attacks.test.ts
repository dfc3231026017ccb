import assert from 'node:assert/strict'
import { lstatSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findRootOfGateway, Roots } from '../../../../../plugins/agents/allowed-paths.ts'
import { GatewayError } from '../../../../../src/plugin.ts'
import { aWorld, pathsOf, plant } from './world.ts'

test('no path leads out of the roots: cwd and files', async t => {
  const world = await aWorld(t)
  plant(world)
  const { roots, root } = world
  const escapes: string[] = []
  for (const path of pathsOf(world))
    for (const way of ['resolveDirectory', 'resolveFile'] as const) {
      const got = await roots[way](path, root).catch((error: unknown) => error)
      const isRefused = got instanceof GatewayError && got.code === 'GW_AGENT_PATH'
      const isInside =
        typeof got === 'string' &&
        (got === root || got.startsWith(`${root}/`)) &&
        realpathSync(got) === got &&
        lstatSync(got).isDirectory() === (way === 'resolveDirectory')
      if (!isRefused && !isInside) escapes.push(`${way} ${JSON.stringify(path).slice(0, 200)} → ${JSON.stringify(got)}`)
    }

  assert.deepEqual(escapes, [])
})

test('a directory is found by its name, and a file relative to the directory of its task', async t => {
  const { world, root, roots } = await aWorld(t)
  const sub = join(root, 'sub')
  symlinkSync(sub, join(root, 'alias'))

  assert.equal(roots.first, root)
  for (const name of ['sub', 'sub/', './sub/.', '../work/sub', sub, join(root, 'alias')])
    assert.equal(await roots.resolveDirectory(name), sub, name)
  for (const name of ['fine', '../sub/fine', join(sub, 'fine')])
    assert.equal(await roots.resolveFile(name, sub), join(sub, 'fine'), name)
  await assert.rejects(roots.resolveDirectory('nothing'), { message: 'cwd "nothing" does not exist' })
  assert.throws(() => new Roots(['nothing'], world), { code: 'GW_AGENT_PATH' })
})

test('a root that has files of the gateway in it, or lies among them, is found', async t => {
  const { world, root } = await aWorld(t)
  mkdirSync(join(world, 'state'))
  symlinkSync(world, join(root, 'up'))
  const places = [{ directory: world, names: /^gateway\.yaml$/ }, { directory: join(world, 'state') }]
  const found = (name: string): boolean => findRootOfGateway([name], world, places) !== undefined

  for (const name of ['.', '..', '/', 'state', 'state/new', 'work/up', 'gateway.yaml/x']) assert.ok(found(name), name)
  for (const name of ['work', 'work2', 'work/sub', 'state2']) assert.ok(!found(name), name)
})

test('attacks on paths say the same whether something is there or not', async t => {
  const { roots, root, outside } = await aWorld(t)
  const said = async (path: string): Promise<string> => {
    const error: unknown = await roots.resolveFile(path, root).catch((thrown: unknown) => thrown)
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
