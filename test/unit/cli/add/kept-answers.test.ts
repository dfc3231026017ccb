import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { KeptAnswers, SaidNo } from '../../../../src/cli/add/kept-answers.ts'
import type { Terminal } from '../../../../src/cli/output/terminal.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { outputTo } from '../../fixtures/silent-terminal.ts'

const HOUR = 3_600_000

/** Answers that are kept in a directory of the test, and what was asked and said. */
function room(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'tapgate-kept-'))
  cleanup(t, () => {
    chmodSync(home, 0o700)
    rmSync(home, { recursive: true, force: true })
  })
  const said: string[] = []
  let asked = 0
  const output = outputTo(said)
  const terminal: Terminal = { cwd: home, environment: { XDG_STATE_HOME: home }, out: output, err: output }
  const directory = join(home, 'tapgate/registries')
  return {
    home,
    said,
    directory,
    files: () => readdirSync(directory).map(name => join(directory, name)),
    age: (ms: number) => {
      for (const file of readdirSync(directory).map(name => join(directory, name))) {
        const kept = JSON.parse(readFileSync(file, 'utf8')) as { at: number }
        writeFileSync(file, JSON.stringify({ ...kept, at: kept.at - ms }))
      }
    },
    asked: () => asked,
    answer: (question: string, give: () => unknown, isFresh = false) =>
      new KeptAnswers(terminal, isFresh).answer(question, () => {
        asked++
        return Promise.resolve().then(give)
      }),
  }
}

const away = (): never => {
  throw new Error('nobody is there')
}

test('an answer is kept for an hour, for this user alone, and --fresh asks anew', async t => {
  const { answer, asked, age, files } = room(t)

  assert.equal(await answer('a', () => 'one'), 'one')
  assert.equal(await answer('a', () => 'two'), 'one')
  assert.equal(await answer('b', () => 'other'), 'other')
  assert.equal(await answer('a', () => 'three', true), 'three')
  assert.equal(asked(), 3)
  for (const file of files()) assert.equal(statSync(file).mode & 0o777, 0o600)
  age(HOUR)
  assert.equal(await answer('a', () => 'four'), 'four')
  // A clock that was set back makes nothing last longer.
  age(-HOUR)
  assert.equal(await answer('a', () => 'five'), 'five')
})

test('an old answer stands in for a registry that is away, and says so; for a no it does not', async t => {
  const { answer, age, said } = room(t)
  await answer('a', () => 'one')
  age(10 * HOUR)

  assert.equal(await answer('a', away), 'one')
  assert.match(said.join(), /^note: nobody is there; this is what was said on \d{4}-/)
  await assert.rejects(
    answer('a', () => {
      throw new SaidNo('there is no such package')
    }),
    /no such package/,
  )
  await assert.rejects(answer('a', away, true), /nobody is there/)
  await assert.rejects(answer('never asked', away), /nobody is there/)
})

test('answers are bounded in number and size, and what is broken or cannot be written is as if it were not there', async t => {
  const { answer, files, home, directory, asked } = room(t)
  for (let n = 0; n < 80; n++) await answer(`q${n}`, () => n)
  assert.ok(files().length <= 64, String(files().length))
  await answer('large', () => 'x'.repeat(3 * 1024 * 1024))
  assert.ok(files().every(file => statSync(file).size < 3 * 1024 * 1024))

  for (const text of ['', '{', 'null', '{"question":"other","at":0,"answer":"wrong"}'])
    for (const file of files()) {
      writeFileSync(file, text)
      assert.notEqual(await answer('q79', () => 'anew'), 'wrong')
    }
  rmSync(directory, { recursive: true })
  writeFileSync(directory, 'in the way')
  const before = asked()
  assert.equal(await answer('q1', () => 'here'), 'here')
  assert.equal(asked(), before + 1)
  assert.ok(statSync(home).isDirectory())
})
