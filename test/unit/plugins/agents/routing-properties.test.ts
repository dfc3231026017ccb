import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  routing,
  type AgentFactsNow,
  type RouteRequest,
} from '../../../../plugins/agents/scheduling/routing.ts'

const IDS = ['a', 'b', 'c', 'd']
const CAPABILITIES = ['code', 'review', 'search']
const TYPES = ['review', 'fix', 'docs']

const anId = fc.constantFrom(...IDS)
const spent = fc.record({
  limit: fc.constantFrom('perMinute' as const, 'perDay' as const),
  retryAfterMs: fc.integer({ min: 1, max: 100_000 }),
})
const agents: fc.Arbitrary<AgentFactsNow[]> = fc.uniqueArray(
  fc.record({
    id: anId,
    capabilities: fc.subarray(CAPABILITIES).map(names => new Set(names)),
    priority: fc.integer({ min: -2, max: 2 }),
    unfit: fc.option(fc.constant('it is ill'), { nil: undefined }),
    onLimit: fc.constantFrom('fallback' as const, 'queue' as const, 'reject' as const),
    running: fc.nat(3),
    concurrent: fc.integer({ min: 1, max: 3 }),
    queued: fc.nat(3),
    queue: fc.nat(3),
    queueTimeoutMs: fc.constant(60_000),
    spent: fc.option(spent, { nil: undefined }),
  }),
  { selector: ({ id }) => id },
)
const rules = fc.array(
  fc.record({
    id: fc.constantFrom('one', 'two', 'three', 'four'),
    taskTypes: fc.subarray(TYPES, { minLength: 1 }),
    prefer: fc.uniqueArray(anId, { minLength: 1 }),
    only: fc.boolean(),
    priority: fc.integer({ min: -2, max: 2 }),
  }),
  { maxLength: 5 },
)
const configs = fc.record({ rules, default: fc.uniqueArray(anId) })
const wishes: fc.Arbitrary<RouteRequest> = fc.record({
  agent: fc.option(anId, { nil: undefined }),
  taskType: fc.option(fc.constantFrom(...TYPES), { nil: undefined }),
  capabilities: fc.subarray(CAPABILITIES),
  prompt: fc.constant('do it'),
  caller: fc.constant({ issuer: '', subject: 'ann' }),
})

test('whoever is chosen is there, is well, can do it, and has room for it', () => {
  fc.assert(
    fc.property(configs, wishes, agents, (config, wanted, all) => {
      const { decision, refused } = routing(config)(wanted, all)
      for (const id of decision.chosen) {
        const found = all.find(agent => agent.id === id)
        assert.ok(found !== undefined && found.unfit === undefined)
        assert.ok(wanted.capabilities.every(capability => found.capabilities.has(capability)))
        assert.ok(wanted.agent === undefined || wanted.agent === id)
        if (found.spent !== undefined) assert.equal(found.onLimit, 'queue')
        const isFree = found.running < found.concurrent && found.queued === 0
        assert.ok(isFree || found.queued < found.queue)
      }
      assert.equal(new Set(decision.chosen).size, decision.chosen.length)
      assert.ok(refused === undefined || decision.chosen.length === 0)
      assert.equal(decision.candidates.length, all.length)
    }),
  )
})

test('of the rules that fit, the highest priority decides, and of those the first', () => {
  fc.assert(
    fc.property(configs, wishes, agents, (config, wanted, all) => {
      const { decision } = routing(config)({ ...wanted, agent: undefined }, all)
      const fitting = config.rules.filter(
        ({ taskTypes }) => wanted.taskType !== undefined && taskTypes.includes(wanted.taskType),
      )
      const highest = Math.max(...fitting.map(({ priority }) => priority))
      const rule = fitting.find(({ priority }) => priority === highest)
      const usual = config.default.length > 0 ? 'default' : 'priority'
      const name = (id: string, priority: number) =>
        `rule:${id}${priority === 0 ? '' : ` (priority ${priority})`}`
      assert.equal(decision.by, rule === undefined ? usual : name(rule.id, rule.priority))
      if (rule?.only === true) assert.ok(decision.chosen.every(id => rule.prefer.includes(id)))
    }),
  )
})

test('the same facts make the same decision, in whatever order they come', () => {
  fc.assert(
    fc.property(configs, wishes, agents, (config, wanted, all) => {
      const route = routing(config)
      assert.deepEqual(route(wanted, [...all].reverse()), route(wanted, all))
    }),
  )
})

test('a higher priority changes nothing but the order of rules', () => {
  fc.assert(
    fc.property(configs, wishes, agents, fc.integer({ min: 1, max: 9 }), (config, wanted, all, by) => {
      const raised = config.rules.map(rule => ({ ...rule, priority: rule.priority + by }))
      const { decision } = routing(config)(wanted, all)
      const { decision: other } = routing({ ...config, rules: raised })(wanted, all)
      assert.deepEqual(other.chosen, decision.chosen)
      assert.deepEqual(other.candidates, decision.candidates)
    }),
  )
})

test('whoever was passed over would come before the chosen one, and says why it does not', () => {
  fc.assert(
    fc.property(configs, wishes, agents, (config, wanted, all) => {
      const { chosen, passedOver = [] } = routing(config)(wanted, all).decision
      for (const { agent, why } of passedOver) {
        assert.notEqual(agent, chosen[0])
        assert.match(why, /^it is ill$|^its limit|^it is busy/)
      }
    }),
  )
})
