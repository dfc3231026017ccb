import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BodyTurns } from '../../../src/transport/http/body-turns.ts'

test('of large bodies that come together one is taken in each turn of the event loop, and callers take turns', async () => {
  const turns = new BodyTurns()
  const taken: string[] = []
  let turn = 0
  const seen = new Map<string, number>()
  for (const body of ['a1', 'a2', 'a3', 'b1'])
    turns.next(body.charAt(0), () => {
      taken.push(body)
      seen.set(body, turn)
    })

  assert.deepEqual(taken, [], 'what was read already is not in front of what arrives')
  while (taken.length < 4) {
    await new Promise(resolve => setImmediate(resolve))
    turn++
  }

  assert.deepEqual(taken, ['a1', 'b1', 'a2', 'a3'])
  assert.equal(new Set(seen.values()).size, 4)
})

test('a body that comes while another one is taken waits for the next turn', async () => {
  const turns = new BodyTurns()
  const taken: string[] = []
  turns.next('a', () => {
    taken.push('first')
    turns.next('a', () => taken.push('second'))
  })
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(taken, ['first'])
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(taken, ['first', 'second'])
})
