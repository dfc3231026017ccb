import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { LAUNCHER, requireBuild } from '../../peers/gateway.ts'
import { directory } from '../cli/run.ts'

const MEMORY = fileURLToPath(
  new URL('../../../node_modules/@modelcontextprotocol/server-memory/dist/index.js', import.meta.url),
)
const TOKEN = 'tok-1234567890abcdef'
const PROGRAMS = ['dbus-run-session', 'gnome-keyring-daemon', 'secret-tool']
const missing = PROGRAMS.filter(program => spawnSync(program, ['--version']).error !== undefined)
const skip =
  missing.length === 0
    ? false
    : `${missing.join(', ')} not installed: apt-get install dbus gnome-keyring libsecret-tools`

test(
  'init --keyring keeps a secret in the real keyring, and its server is started with it',
  { skip },
  async t => {
    requireBuild()
    // Starts only with a token of this length.
    const script = `test "$(printf %s "$API_TOKEN" | wc -c)" -eq ${TOKEN.length} && exec "$0" "$1"`
    const wants = { command: 'sh', args: ['-c', script, process.execPath, MEMORY] }
    const servers = { wants: { ...wants, env: { API_TOKEN: TOKEN } } }
    const home = await directory(t, {
      '.cursor/mcp.json': JSON.stringify({ mcpServers: servers }),
      'project/.keep': '',
      'run/.keep': '',
    })
    const command = `"${process.execPath}" "${LAUNCHER}"`
    const steps = [
      'printf password | gnome-keyring-daemon --unlock --components=secrets > /dev/null',
      `${command} init --yes --keyring --no-start --no-connect --json > init.json`,
      'secret-tool search --all service tapgate > kept.txt 2>&1',
      `${command} tools --json > tools.json`,
    ]
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      XDG_RUNTIME_DIR: join(home, 'run'),
      XDG_DATA_HOME: join(home, 'data'),
      XDG_STATE_HOME: join(home, 'state'),
    }
    const cwd = join(home, 'project')
    const { status, stderr } = spawnSync('dbus-run-session', ['--', 'sh', '-ec', steps.join('\n')], {
      ...{ cwd, env, encoding: 'utf8', timeout: 100_000 },
    })
    assert.equal(status, 0, stderr)

    const said = JSON.parse(await readFile(join(cwd, 'init.json'), 'utf8')) as {
      kept: string
      secrets: unknown[]
    }
    assert.deepEqual([said.kept, said.secrets.length], ['keyring', 1])
    const config = await readFile(join(cwd, 'gateway.yaml'), 'utf8')
    assert.match(config, /\$\{keyring:/)
    assert.doesNotMatch(config, new RegExp(TOKEN))
    assert.match(await readFile(join(cwd, 'kept.txt'), 'utf8'), new RegExp(`secret = ${TOKEN}`))
    const { tools } = JSON.parse(await readFile(join(cwd, 'tools.json'), 'utf8')) as {
      tools: { name: string }[]
    }
    assert.ok(tools.some(({ name }) => name.startsWith('wants__')))
  },
)
