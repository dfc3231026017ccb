import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPins } from '../../../../plugins/pins/definition.ts'
import { PinJudge, type Drift, type Mode } from '../../../../plugins/pins/pin-judge.ts'
import { createEntry, createUnlistedEntry, type CatalogEntry } from '../../../../src/api/catalog-entry.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { TOOL } from './drifts.ts'

function judgeWith(mode: Mode, instructions?: string) {
  const drifts: Drift[] = []
  const described = { lists: { tools: [TOOL] }, ...(instructions === undefined ? {} : { instructions }) }
  const judge = new PinJudge({
    lock: new Map([['mail', createPins(described)]]),
    modes: new Map([['mail', mode]]),
    hashes: new WeakMap(),
    onDrift: drift => drifts.push(drift),
  })
  return { judge, drifts }
}

function tool(value: JsonObject, upstream = 'mail'): CatalogEntry {
  return createEntry('tools', upstream, String(value.name), `${upstream}__`, value)
}

const OTHER = { ...TOOL, description: 'For you alone.' }

test('a caller who is shown another definition has it withheld, and nobody else', () => {
  const { judge, drifts } = judgeWith('withhold')

  const [ann, bob] = [judge.judge(tool(TOOL)), judge.judge(tool(OTHER))]

  assert.deepEqual(ann.marks, { pin: 'same' })
  assert.equal(ann.refusal, undefined)
  assert.deepEqual(bob.marks, { pin: 'changed' })
  assert.match(bob.refusal?.message ?? '', /tool "mail__send" is withheld/)
  assert.deepEqual(
    drifts.map(({ name, status, isWithheld }) => [name, status, isWithheld]),
    [['send', 'changed', true]],
  )
})

test('a name that no list has is judged by what its server listed last, and by the lock', () => {
  const unlisted = (name: string): CatalogEntry => createUnlistedEntry('tools', 'mail', name, 'mail__')
  const { judge } = judgeWith('withhold')
  const before = judge.judge(unlisted('send'))
  judge.judge(tool(OTHER))
  const after = judge.judge(unlisted('send'))
  const { judge: strict } = judgeWith('strict')

  assert.equal(before.refusal, undefined)
  assert.notEqual(after.refusal, undefined)
  assert.equal(judge.judge(unlisted('unheard')).refusal, undefined)
  assert.notEqual(strict.judge(unlisted('unheard')).refusal, undefined)
  assert.equal(strict.judge(unlisted('send')).refusal, undefined)
  // The question whether anything of a server may be seen.
  assert.equal(strict.judge(unlisted('')).refusal, undefined)
})

test('instructions are passed on as they were accepted, and withheld where they changed or are new', () => {
  const text = (judge: PinJudge, said: string): string[] =>
    judge.instructions([{ upstream: 'mail', text: said }]).map(one => one.text)

  assert.deepEqual(text(judgeWith('withhold', 'Be kind.').judge, 'Be kind.'), ['Be kind.'])
  assert.deepEqual(text(judgeWith('withhold', 'Be kind.').judge, 'Be cruel.'), [])
  assert.deepEqual(text(judgeWith('withhold').judge, 'Be cruel.'), [])
  assert.deepEqual(text(judgeWith('warn', 'Be kind.').judge, 'Be cruel.'), ['Be cruel.'])
})

test('a resource that is a file of an accepted skill is marked with it, whatever its scheme and spelling', () => {
  const skills = [{ uri: 'repo://deploy/SKILL.md', frontmatter: { name: 'deploy' }, resources: 'dynamic' }]
  const judge = new PinJudge({
    lock: new Map([['mail', createPins({ lists: { skills } })]]),
    modes: new Map([['mail', 'withhold']]),
    hashes: new WeakMap(),
    onDrift: () => assert.fail('nothing changed'),
  })
  const mark = (uri: string) => judge.judge(createUnlistedEntry('resources', 'mail', uri, '')).marks?.skill

  for (const uri of ['repo://deploy/run.sh', 'REPO://deploy/sub/../%72un.sh'])
    assert.equal(mark(uri), 'repo://deploy/SKILL.md')
  assert.equal(mark('repo://deployed/run.sh'), undefined)
})
