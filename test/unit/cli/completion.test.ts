import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { COMPLETION_SCRIPTS } from '../../../src/cli/completion.ts'
import { runCommand } from '../../fixtures/run-command.ts'

async function offered(...words: string[]): Promise<string[]> {
  const { code, stdout } = await runCommand(['__complete', '--', ...words], { cwd: '/' })
  assert.equal(code, 0)
  return stdout.split('\n').filter(word => word !== '')
}

test('commands, those of a topic, flags and values are completed', async () => {
  assert.deepEqual(await offered('va'), ['validate'])
  assert.deepEqual(await offered('plugin', ''), ['new'])
  assert.deepEqual(await offered('plugin', 'new', '--f'), ['--force'])
  assert.deepEqual(await offered('serve', '--set', 'a=b', '--st'), ['--stdio'])
  assert.deepEqual(await offered('completion', 'z'), ['zsh'])
  assert.deepEqual(await offered('help', 'valid'), ['validate'])
  assert.ok((await offered('')).includes('--version'))
})

test('other names of a command have the same help and completion', async () => {
  assert.deepEqual(await offered('sc'), ['scan'])
  assert.deepEqual(await offered('scan', '--o'), ['--online'])
  for (const words of [
    ['help', 'scan'],
    ['scan', '--help'],
  ]) {
    const { code, stdout } = await runCommand(words, { cwd: '/' })
    assert.equal(code, 0)
    assert.match(stdout, /gateway scan \[--online\]/)
  }
  const { stdout } = await runCommand(['help', 'all'], { cwd: '/' })
  assert.doesNotMatch(stdout, /^ {2}scan/m)
})

test('a flag is followed by what it may be, or by nothing that is known', async () => {
  assert.deepEqual(await offered('connect', 'cursor', '--scope', ''), ['user', 'project'])
  assert.deepEqual(await offered('service', '--platform', 'd'), ['darwin'])
  assert.deepEqual(await offered('serve', '-c', ''), [])
  assert.deepEqual(await offered('wrap', '--', 'no'), [])
})

const hasBash = spawnSync('bash', ['--version']).status === 0

test('bash asks for the words up to the cursor', { skip: !hasBash }, () => {
  const program = `gateway() { printf '%s\\n' "$@"; }
${COMPLETION_SCRIPTS.bash}
COMP_WORDS=(gateway serve --st more)
COMP_CWORD=2
_gateway
printf '%s\\n' "\${COMPREPLY[@]}"`

  assert.equal(execFileSync('bash', ['-c', program], { encoding: 'utf8' }), '__complete\n--\nserve\n--st\n')
})

for (const [shell, flag] of [
  ['zsh', '-n'],
  ['fish', '--no-execute'],
] as const) {
  const isThere = spawnSync(shell, ['--version']).status === 0

  test(`the script for ${shell} is a script for ${shell}`, { skip: !isThere }, () => {
    const { status } = spawnSync(shell, [flag], { input: COMPLETION_SCRIPTS[shell] })
    assert.equal(status, 0)
  })
}
