import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCommand } from '../../fixtures/run-command.ts'

test('help config describes a key with its default, an example and the keys below', async () => {
  const { code, stdout } = await runCommand(['help', 'config', 'upstreams.web.cache'])

  assert.equal(code, 0)
  assert.match(stdout, /^upstreams\.<name>\.cache {2}map\|boolean/)
  assert.match(stdout, /^ {2}cache:\n {4}tools:/m)
  assert.match(stdout, /^ {2}lists +string/m)
})

test('help config lists the types of what has several, and says which key was probably meant', async () => {
  const [listeners, typo, json] = await Promise.all([
    runCommand(['help', 'config', 'listeners']),
    runCommand(['help', 'config', 'chache']),
    runCommand(['help', 'config', 'audit', 'file', '--json']),
  ])

  assert.match(listeners.stdout, /^ {2}type +http\|stdio\|socket/m)
  assert.equal(typo.code, 2)
  assert.match(typo.stderr, /gateway\.yaml has no key "chache" – did you mean "cache"\?/)
  assert.equal((JSON.parse(json.stdout) as { key: string }).key, 'audit.file')
})
