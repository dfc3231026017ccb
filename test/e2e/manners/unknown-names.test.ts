import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beforeServer } from './places.ts'
import { gateway, serving } from '../cli/run.ts'

test('commands about something that is not there end with 2, and say what was probably meant', async t => {
  const more = { activity: { every: 50 }, profiles: { narrow: { upstreams: ['web'] } } }
  const { cwd } = await beforeServer(t, { look: () => 'seen' }, more)
  await serving(t, ['serve'], { cwd }).logged('upstream ready')
  assert.equal((await gateway(['call', 'web__look'], { cwd })).code, 0)

  for (const [command, meant] of [
    ['cache ls --upstream wep', 'web'],
    ['cache purge --upstream wep', 'web'],
    ['cache purge --name web__lok', 'web__look'],
    ['activity --tool web__lok', 'web__look'],
    ['lock wep', 'web'],
    ['fit cursor --profile narow', 'narrow'],
    ['remove wep --yes', 'web'],
  ] as const) {
    const { code, stdout, stderr } = await gateway(command.split(' '), { cwd })
    assert.equal(code, 2, `${command}: ${stdout}`)
    assert.ok(stderr.includes(`did you mean "${meant}"?`), `${command}: ${stderr}`)
  }
  // What is there and has nothing is no mistake, and neither is a pattern.
  for (const command of [
    'cache purge --name web__look',
    'cache purge --name nothing*',
    'activity --tool web__look --failed',
    'activity --tool nothing*',
  ]) {
    const { code, stderr } = await gateway(command.split(' '), { cwd })
    assert.equal(code, 0, `${command}: ${stderr}`)
  }
})
