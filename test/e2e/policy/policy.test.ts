import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { directory, gateway, PACKAGE } from '../cli/run.ts'

const EXAMPLE = join(PACKAGE, 'examples/policy')

test('gateway policy test tries the cases of the example, and all come out as expected', async () => {
  const { code, stdout } = await gateway(['policy', 'test', 'cases.yaml'], { cwd: EXAMPLE })

  assert.equal(code, 0, stdout)
  assert.match(stdout, /^ok +\/etc is closed +deny by no-etc +deny +no-etc/m)
  assert.match(stdout, /8 cases, 0 failed/)
})

test('a case that comes out otherwise is exit code 6, a file that is none 2, and a wrong rule 3 with its place', async t => {
  const cwd = await directory(t, {
    'gateway.yaml': 'version: 1\npolicy:\n  deny:\n    - tool.name == "a"\n',
    'cases.yaml': '- { tool: a, effect: allow }\n- { tool: b, effect: allow }\n',
    'wrong.yaml':
      'version: 1\npolicy:\n  deny:\n    - args.path == "x"\n    - { for: a, when: principle.subject == "x" }\n',
  })

  const failed = await gateway(['policy', 'test', 'cases.yaml', '--json'], { cwd })
  assert.equal(failed.code, 6)
  const { cases } = JSON.parse(failed.stdout) as { cases: { isOk: boolean; rule?: string }[] }
  assert.deepEqual(
    cases.map(({ isOk, rule }) => [isOk, rule]),
    [
      [false, 'deny[0]'],
      [true, undefined],
    ],
  )
  assert.equal((await gateway(['policy', 'test', 'none.yaml'], { cwd })).code, 2)
  const wrong = await gateway(['policy', 'test', 'cases.yaml', '-c', 'wrong.yaml'], { cwd })
  assert.equal(wrong.code, 3)
  assert.match(wrong.stderr, /wrong\.yaml:4:7 \/policy\/deny\/0 args\.path is read for every tool/)
  assert.match(wrong.stderr, /wrong\.yaml:5:23 \/policy\/deny\/1\/when unknown variable "principle".*"principal"/)
})
