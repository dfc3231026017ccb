import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetch } from 'undici'
import { closeAfter, testUpstream } from '../../../src/testing/index.ts'
import { modern } from '../../unit/fixtures/by-token.ts'
import { gateway } from '../cli/run.ts'
import { twoWorkers, until } from './setting.ts'

test('a purge in one worker is one in all', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { look: () => 'seen' } }))
  const { url, cwd } = await twoWorkers(t, {
    upstreams: { web: { type: 'http', url: web.url } },
    cache: { tools: { web__look: { ttl: '1h', tags: ['things'] } } },
  })
  const look = async (): Promise<void> => {
    const { headers = {}, ...init } = modern('tools/call', { name: 'web__look', arguments: {} })
    const own = { ...(headers as Record<string, string>), connection: 'close' }
    assert.match(await (await fetch(url, { ...(init as object), headers: own })).text(), /seen/)
  }
  const kept = async (): Promise<number> => {
    const { entries } = JSON.parse((await gateway(['cache', 'ls', '--json'], { cwd })).stdout) as {
      entries: { tags?: string[] }[]
    }
    return entries.filter(({ tags }) => tags !== undefined).length
  }
  const fill = (): Promise<void> =>
    until(async () => {
      await look()
      return (await kept()) === 2
    })

  await fill()
  const purged = await gateway(['cache', 'purge', '--tag', 'things', '--json'], { cwd })
  assert.deepEqual(JSON.parse(purged.stdout), { purged: 1, others: 'told' })
  await until(async () => (await kept()) === 0)

  await fill()
  const { stdout } = await gateway(['cache', 'purge', '--tag', 'things'], { cwd })
  assert.match(stdout, /^1 entry purged here; the other replicas are told$/m)
  await until(async () => (await kept()) === 0)
})
