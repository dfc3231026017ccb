import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { draftOf, writeDraft } from '../../../../src/cli/init/write-config.ts'
import { loadConfig } from '../../../../src/gateway/load-config.ts'
import { directoryWith } from '../../config/temp.ts'

const ONLY_LINUX = process.platform === 'linux' ? false : 'the keyring of this test is that of Linux'
const TOKEN = 'tok-1234567890abcdef'
const SERVERS = ['one', 'two'].map(name => ({
  name,
  upstream: { type: 'http', url: 'https://a.example', headers: { Authorization: `Bearer ${TOKEN}-${name}` } },
  from: ['Cursor'],
}))

/** Stands for secret-tool: entries are files, and arguments are noted. */
const SECRET_TOOL = `#!/bin/sh
cd "$(dirname "$0")/../entries" || exit 1
echo "$@" >> ../arguments
for name; do :; done
case $1 in
  store) [ -e ../locked-$(ls | wc -l) ] && { echo "the collection is locked" >&2; exit 1; }; cat > "$name" ;;
  lookup) [ -e "$name" ] && cat "$name" ;;
  clear) rm "$name" ;;
esac
`

async function world(t: TestContext): Promise<{
  readonly at: string
  readonly environment: Record<string, string>
  init(force?: boolean): Promise<void>
}> {
  const at = directoryWith(t, { 'bin/secret-tool': SECRET_TOOL, 'entries/.keep': '', 'project/.keep': '' })
  await chmod(join(at, 'bin/secret-tool'), 0o755)
  const environment = { HOME: at, PATH: `${join(at, 'bin')}:${process.env.PATH ?? ''}` }
  const target = join(at, 'project/gateway.yaml')
  const draft = draftOf(SERVERS, { environment, launcher: '/x/bin/run.js', target, kept: 'keyring' })
  return { at, environment, init: (force = false) => writeDraft(draft, target, { force, environment }) }
}

function entries(at: string): string[] {
  return readdirSync(join(at, 'entries')).filter(name => name !== '.keep')
}

test('secrets go into the keyring, and the gateway reads them there', { skip: ONLY_LINUX }, async t => {
  const { at, environment, init } = await world(t)
  await init()

  const cwd = join(at, 'project')
  const { config, secrets } = await loadConfig({ cwd, environment })
  for (const name of ['one', 'two']) {
    const { headers } = config.upstreams[name] as { headers: Record<string, string> }
    assert.equal(headers.Authorization, `Bearer ${TOKEN}-${name}`)
    assert.ok(secrets.includes(`${TOKEN}-${name}`) || secrets.includes(`Bearer ${TOKEN}-${name}`))
  }
  assert.deepEqual(
    entries(at).map(name => name.replace(/^project-[0-9a-f]{8}-/, '')),
    ['one-headers-authorization', 'two-headers-authorization'],
  )
  assert.equal(existsSync(join(cwd, 'secrets')), false)
  // Any program of the same user can read the arguments of another.
  const shown = readFileSync(join(cwd, 'gateway.yaml'), 'utf8') + readFileSync(join(at, 'arguments'), 'utf8')
  assert.doesNotMatch(shown, new RegExp(TOKEN))
})

test('where there is no keyring nothing is written, and it says why', { skip: ONLY_LINUX }, async t => {
  const { at, init } = await world(t)
  rmSync(join(at, 'bin/secret-tool'))
  // A system may have the real one, which must not be asked.
  writeFileSync(join(at, 'bin/secret-tool'), '#!/bin/sh\necho "Cannot autolaunch D-Bus" >&2; exit 1\n', {
    mode: 0o755,
  })

  await assert.rejects(init(), {
    code: 'GW_KEYRING',
    message: /did not keep "project-.*-one-.*": secret-tool ended with exit code 1: Cannot autolaunch D-Bus/,
  })
  assert.deepEqual(readdirSync(join(at, 'project')), ['.keep'])
})

test('when a later secret cannot be kept the keyring is as it was', { skip: ONLY_LINUX }, async t => {
  const { at, init } = await world(t)
  writeFileSync(join(at, 'locked-1'), '')
  await assert.rejects(init(), /the collection is locked/)
  assert.deepEqual(entries(at), [])

  rmSync(join(at, 'locked-1'))
  await init()
  const [first = ''] = entries(at)
  writeFileSync(join(at, 'entries', first), 'of-before')
  rmSync(join(at, 'entries', entries(at)[1] ?? ''))
  writeFileSync(join(at, 'locked-1'), '')
  await assert.rejects(init(true), /the collection is locked/)
  assert.deepEqual(entries(at), [first])
  assert.equal(readFileSync(join(at, 'entries', first), 'utf8'), 'of-before')
})

test(
  'of a configuration that is there already nothing goes into the keyring',
  { skip: ONLY_LINUX },
  async t => {
    const { at, init } = await world(t)
    writeFileSync(join(at, 'project/gateway.yaml'), 'version: 1\n')
    await assert.rejects(init(), { code: 'GW_FILE_EXISTS' })
    assert.deepEqual(entries(at), [])
    assert.equal(existsSync(join(at, 'arguments')), false)
  },
)
