import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testUpstream } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { answersCommands, directory, gateway, serving } from './run.ts'

test('an environment has a gateway and a state of its own, and hints and plans name it', async t => {
  const web = await testUpstream({ tools: { echo: () => 'echo' } })
  cleanup(t, () => web.stop())
  const url = JSON.stringify(web.url)
  const cwd = await directory(t, {
    'gateway.yaml': `version: 1\nlisteners: { main: { type: http, port: 0 } }\nupstreams:\n  web: { type: http, url: ${url} }\n`,
    'gateway.prod.yaml': `upstreams:\n  more: { type: http, url: ${url} }\n`,
  })
  const prod = serving(t, ['serve', '--env', 'prod'], { cwd })
  await prod.logged('serving')
  await answersCommands({ cwd, env: { GATEWAY_ENV: 'prod' } })

  const [plain, status, json, plan] = [
    await gateway(['status'], { cwd }),
    await gateway(['status', '--env', 'prod'], { cwd }),
    await gateway(['ls', '--env', 'prod', '--json'], { cwd }),
    await gateway(['plan', '--env', 'prod', '--against', 'gateway.yaml'], { cwd }),
  ]

  assert.equal(plain.code, 4)
  assert.match(plain.stdout, /^not running: start it with gateway up -c gateway\.yaml\n$/)
  assert.match(status.stdout, /gateway\.yaml · env prod/)
  assert.match(status.stdout, /gateway attach -c gateway\.yaml --env prod/)
  assert.equal((JSON.parse(json.stdout) as { gateway: { env: string } }).gateway.env, 'prod')
  assert.match(plan.stdout, /\+ +server +more is started/)
  assert.equal(plan.code, 6)
})
