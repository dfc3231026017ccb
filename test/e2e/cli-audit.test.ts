import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { BEGINNING, chained } from '../../plugins/audit/chain.ts'
import { directory, gateway } from './cli/run.ts'

/** Three lines of an audit as it writes them. */
function audit(): string {
  let before = BEGINNING
  const bodies = [`{"kind":"opened","previous":"${BEGINNING}"}`, '{"n":1}', '{"n":2}']
  return bodies
    .map(body => {
      const { line, hash } = chained(body, before)
      before = hash
      return `${line}\n`
    })
    .join('')
}

test('an audit that is what was written is said to be so, with its last hash', async t => {
  const text = audit()
  const cwd = await directory(t, { 'audit.jsonl': text })

  const { code, stdout } = await gateway(['audit', 'verify', 'audit.jsonl'], { cwd })

  const last = /"hash":"(\w{64})"\}\n$/.exec(text)?.[1]
  assert.deepEqual([code, stdout], [0, `3 lines in 1 file as written; the last hash is ${last}\n`])
})

test('an audit that was changed ends with 5, and says where', async t => {
  const cwd = await directory(t)
  await writeFile(join(cwd, 'audit.jsonl'), audit().replace('"n":1', '"n":7'))

  const { code, stdout } = await gateway(['audit', 'verify', 'audit.jsonl'], { cwd })
  const { stdout: json } = await gateway(['audit', 'verify', 'audit.jsonl', '--json'], { cwd })
  const missing = await gateway(['audit', 'verify', 'other.jsonl'], { cwd })

  assert.equal(code, 5)
  assert.match(stdout, /audit\.jsonl:2 it is not what was written/)
  const { isIntact, problem } = JSON.parse(json) as { isIntact: boolean; problem: { line: number } }
  assert.deepEqual([isIntact, problem.line, missing.code], [false, 2, 2])
})
