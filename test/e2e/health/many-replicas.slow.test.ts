import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { redisFor, skip } from '../../fixtures/redis.ts'
import { directory, gateway, serving } from '../cli/run.ts'

test('replicas of one configuration on one machine: any of them says who there is', { skip }, async t => {
  const redis = await redisFor(t)
  const cwd = await directory(t)
  const key = Buffer.alloc(32, 7).toString('base64')
  await writeFile(
    join(cwd, 'gateway.yaml'),
    `version: 1\nlisteners: { main: { type: http, port: 0 } }\ncluster: { redis: "${redis.url}", keys: [{ id: a, key: "${key}" }] }\n`,
  )
  for (const running of [serving(t, ['serve'], { cwd }), serving(t, ['serve'], { cwd })])
    await running.logged('serving')

  const { code, stdout, stderr } = await gateway(['replicas'], { cwd })

  assert.equal(code, 0, stderr)
  assert.equal(stdout.match(/^r[0-9a-f]{16}/gm)?.length, 2, stdout)
  const status = await gateway(['ps', '--json'], { cwd })
  const { replicas } = JSON.parse(status.stdout) as { replicas: { isSelf: boolean }[] }
  assert.deepEqual(replicas.map(({ isSelf }) => isSelf).sort(), [false, true])
  assert.match((await gateway(['ps'], { cwd })).stdout, /replicas: 2 /)
  assert.equal((await gateway(['reload'], { cwd })).code, 4, 'what is about one of them is still asked of one')
  const { findings } = JSON.parse((await gateway(['doctor', '--json'], { cwd })).stdout) as { findings: object[] }
  assert.doesNotMatch(JSON.stringify(findings), /2 gateways|replica/)
})
