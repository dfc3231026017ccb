// Cost of 500 rules to a call: `node test/bench/policy.ts`. Processor time of judging alone, median of eleven rounds. No
// two rules of one effect have the same text, but for those of `allow`.
import { compileRules, RuleIndex, type PolicyConfig, PolicyJudge } from '../../plugins/policy/policy-judge.ts'
import { createFacts, type Facts } from '../../plugins/policy/expression-variables.ts'

const ROUNDS = 11
const CALLS = 100_000

const SIZES = [5, 50, 500] as const
const principal = createFacts('principal', {
  authenticated: true,
  issuer: 'https://id.example.com',
  subject: 'alice',
  client: 'cli',
  scopes: [],
  groups: ['eng'],
  claims: {},
  key: '',
})

for (const size of SIZES) console.log(`${String(size).padStart(4)} rules: ${median(size).toFixed(2)} µs a call`)

function median(size: number): number {
  const rules = new RuleIndex(compileRules(policyOf(size)).rules)
  const judge = new PolicyJudge(rules.hasAllow, () => undefined)
  const calls = Array.from({ length: size / 5 }, (_, index) => factsOf(index))
  const rounds = Array.from({ length: ROUNDS }, () => {
    const began = process.cpuUsage()
    for (let call = 0; call < CALLS; call++) {
      const facts = calls[call % calls.length] as Facts
      const name = (facts.tool as { readonly name: string }).name
      judge.judgeCall(rules.findApplicable({ kind: 'tools', name }), { facts, scopes: [] })
    }
    const { user, system } = process.cpuUsage(began)
    return (user + system) / CALLS
  })
  return rounds.sort((a, b) => a - b)[ROUNDS >> 1] ?? NaN
}

/** Five rules for each tool: two that deny, one of each other effect. */
function policyOf(size: number): PolicyConfig {
  const tools = Array.from({ length: size / 5 }, (_, index) => `tool${index}`)
  const each = (whenOf: (index: number) => string): { for: string; when: string }[] =>
    tools.map((name, index) => ({ for: name, when: whenOf(index) }))
  return {
    deny: [
      ...each(index => `args.?path.orValue("").startsWith("/etc${index}")`),
      ...each(index => `args.?force${index}.orValue(false)`),
    ],
    require: each(index => `args.path.within("/srv/projects${index}")`),
    allow: each(() => 'principal.authenticated && "eng" in principal.groups'),
    ask: each(index => `args.?amount.orValue(0.0) > ${100 + index}.0`),
    headers: [],
  }
}

function factsOf(index: number): Facts {
  const name = `tool${index}`
  return {
    principal,
    tool: createFacts('tool', { name, original: name }),
    upstream: createFacts('upstream', { name: 'files' }),
    args: { path: `/srv/projects${index}/a`, amount: 7 },
    method: 'tools/call',
    phase: 'call',
  }
}
