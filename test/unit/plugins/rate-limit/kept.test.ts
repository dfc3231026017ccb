import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answersFor } from '../../../../plugins/rate-limit/kept.ts'
import { countsOf, Rule } from '../../../../plugins/rate-limit/rule.ts'

const clock = { now: () => 0, after: () => () => undefined }

function ruleOf(name: string, limits: object): Rule {
  const spec = { per: ['principal' as const], ...limits }

  return new Rule(name, spec, countsOf(spec, undefined), clock, undefined)
}

test('a place that is held counts for all, until who holds it gives it back or ends', () => {
  const [one, other] = [{}, {}]
  const { answer, gone } = answersFor([ruleOf('few', { inFlight: 2 })], new Map())
  const admit = (from: object): boolean => answer({ admit: [['few', 'key']] }, from).full === undefined

  assert.deepEqual([admit(one), admit(other), admit(one)], [true, true, false])
  answer({ left: [['few', 'key']] }, other)
  assert.deepEqual([admit(one), admit(other)], [true, false])
  gone(one)
  assert.deepEqual([admit(other), admit(other), admit(other)], [true, true, false])
})

test('nobody gives back what he does not hold, and a rule that is no more refuses nobody', () => {
  const [one, other] = [{}, {}]
  const { answer } = answersFor([ruleOf('few', { inFlight: 1 })], new Map())
  answer({ admit: [['few', 'key']] }, one)

  answer({ left: [['few', 'key']] }, other)

  assert.notEqual(answer({ admit: [['few', 'key']] }, other).full, undefined)
  assert.equal(answer({ admit: [['gone', 'key']] }, other).full, undefined)
})
