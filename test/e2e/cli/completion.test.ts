import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import { directory, gateway } from './run.ts'

const hasBash = spawnSync('bash', ['--version']).status === 0
let script = ''

before(async () => {
  script = (await gateway(['completion', 'bash'])).stdout
})

/** All that bash offers for the last word of a command line. */
async function offered(line: string, cwd: string, before = ''): Promise<string[]> {
  const words = line.split(' ')
  const program = `${before}${script}
COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')})
COMP_CWORD=${words.length - 1}
_gateway
printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await promisify(execFile)('bash', ['-c', program], { cwd })
  return stdout.split('\n').filter(word => word !== '')
}

test('bash completes commands, those of a topic, flags and values', { skip: !hasBash }, async t => {
  const cwd = await directory(t)

  assert.deepEqual(await offered('gateway va', cwd), ['validate'])
  assert.deepEqual(await offered('gateway plugin ', cwd), ['new'])
  assert.deepEqual(await offered('gateway plugin new --f', cwd), ['--force'])
  assert.deepEqual(await offered('gateway serve --set a=b --st', cwd), ['--stdio'])
  assert.deepEqual(await offered('gateway completion z', cwd), ['zsh'])
})

test('bash completes what a flag of that command may be', { skip: !hasBash }, async t => {
  const cwd = await directory(t)

  assert.deepEqual(await offered('gateway connect --scope ', cwd), ['user', 'project'])
  assert.deepEqual(await offered('gateway connect cursor --all --scope p', cwd), ['project'])
  assert.deepEqual(await offered('gateway service install --platform d', cwd), ['darwin'])
  assert.deepEqual(await offered('gateway key new --scope ', cwd), [])
  assert.deepEqual(await offered('gateway connect --scope user --al', cwd), ['--all'])
})

test('every shell gets what a flag may be', async () => {
  const shown: Readonly<Record<string, readonly string[]>> = {
    bash: [`"connect "*"--scope") COMPREPLY=($(compgen -W "user project" -- "$word")); return ;;`],
    zsh: [`'*--scope[The user'\\''s settings, or the project'\\''s]:value:(user project)'`],
    fish: [`-n '__fish_seen_subcommand_from connect' -l scope -x -a 'user project' -d`],
    powershell: [`'connect --scope' = @(,@('user', 'user'); ,@('project', 'project'))`, '$values[$flag]'],
  }
  for (const [shell, texts] of Object.entries(shown)) {
    const { stdout } = await gateway(['completion', shell])
    for (const text of texts) assert.ok(stdout.includes(text), `${shell} lacks ${text}`)
  }
})

test('bash completes files after --config, and nothing after --set', { skip: !hasBash }, async t => {
  const cwd = await directory(t, { 'gateway.yaml': '', 'own gateway.yaml': '' })

  assert.deepEqual(await offered('gateway serve -c gat', cwd), ['gateway.yaml'])
  assert.deepEqual(await offered('gateway serve --config own', cwd), ['own gateway.yaml'])
  assert.deepEqual(await offered('gateway serve --set x', cwd), [])
})

test(
  'bash completes the upstreams of the running gateway where one is wanted',
  { skip: !hasBash },
  async t => {
    const cwd = await directory(t)
    const running = `gateway() { [ "$*" = 'ps --quiet' ] && printf 'files\\nweb\\n'; }\n`

    assert.deepEqual(await offered('gateway restart fi', cwd, running), ['files'])
    assert.deepEqual(await offered('gateway logs w', cwd, running), ['web'])
    assert.deepEqual(await offered('gateway logs --fol', cwd, running), ['--follow'])
    assert.deepEqual(await offered('gateway reload w', cwd, running), [])
  },
)

for (const [shell, check] of Object.entries({
  bash: ['bash', '-n'],
  zsh: ['zsh', '-n'],
  fish: ['fish', '--no-execute'],
})) {
  const [program = '', flag = ''] = check
  const isThere = spawnSync(program, ['--version']).status === 0

  test(`the script for ${shell} is a script for ${shell}`, { skip: !isThere }, async t => {
    const { stdout } = await gateway(['completion', shell])
    const file = join(await directory(t, { script: stdout }), 'script')

    assert.equal(spawnSync(program, [flag, file]).status, 0)
  })
}

test('every shell gets every command', async () => {
  const scripts = await Promise.all(
    ['bash', 'zsh', 'fish', 'powershell'].map(shell => gateway(['completion', shell])),
  )

  for (const { code, stdout } of scripts) {
    assert.equal(code, 0)
    for (const name of [
      'serve',
      'validate',
      'inspect',
      'tools',
      'call',
      'wrap',
      'plugin',
      'completion',
      'help',
    ])
      assert.ok(stdout.includes(name))
  }
})
