import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer, Principal } from '../../../src/api/index.ts'
import { ANONYMOUS } from '../../../src/plugin.ts'
import { Admission } from '../../../src/listeners/client/inbound-request.ts'
import { MemoryBudget } from '../../../src/net/backlog.ts'

const named = (subject: string): Principal => ({ ...ANONYMOUS, issuer: 'test', subject })

test('above its limit requests wait, callers take turns, and of one caller only so many wait', async () => {
  const admission = new Admission(1, new MemoryBudget(1000))
  const began: string[] = []
  const ends: (() => void)[] = []
  const ask = (who: string): Promise<Answer> =>
    admission.run(named(who), async () => {
      began.push(who)
      await new Promise<void>(resolve => ends.push(resolve))
      return { error: { code: 0, message: '' } }
    })
  const asked = Array.from({ length: 1025 }, () => ask('greedy'))
  const refused = await ask('greedy')
  asked.push(ask('modest'))

  while (began.length < 3) {
    ends.shift()?.()
    await new Promise(resolve => setImmediate(resolve))
  }

  assert.deepEqual(began, ['greedy', 'greedy', 'modest'])
  assert.equal('error' in refused && refused.http?.status, 503)
})
