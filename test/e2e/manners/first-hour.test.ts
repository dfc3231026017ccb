import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { beforeServer } from './places.ts'
import { gateway, serving } from '../cli/run.ts'

/** A directory with a gateway.yaml before a server of forty tools. */
async function place(t: TestContext, more: object = {}): Promise<string> {
  const tools = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`tool_${index}`, () => 'done']))
  return (await beforeServer(t, tools, more)).cwd
}

test('a call of a server that its owner has stopped says how to start it', async t => {
  const cwd = await place(t)
  await serving(t, ['serve'], { cwd }).logged('upstream is ready')
  await gateway(['stop', 'web'], { cwd })

  const { code, stderr } = await gateway(['call', 'web__tool_1'], { cwd })

  assert.equal(code, 4)
  assert.match(
    stderr,
    /GW_UPSTREAM_STOPPED: upstream "web" was stopped\nhint: gateway start web starts it\.\n/,
  )
})

test('a command about something that the gateway has not says what to add, and lists no verbs', async t => {
  const cwd = await place(t)
  await serving(t, ['serve'], { cwd }).logged('upstream is ready')

  for (const [command, section] of [
    ['replicas', 'cluster'],
    ['approvals list', 'approve'],
  ] as const) {
    const { code, stderr } = await gateway(command.split(' '), { cwd })
    assert.equal(code, 2)
    assert.match(
      stderr,
      new RegExp(`^error GW_NOT_CONFIGURED: this gateway has no "${section}"\nhint: Add "${section}"`),
    )
  }
})

test('validate counts the servers that the file has', async t => {
  const cwd = await place(t, { shape: { maxTokens: 8000 } })

  const { stdout } = await gateway(['validate'], { cwd })

  assert.match(stdout, /is valid: 1 upstream, 1 listener/)
})

test('explain of a tool that is not there names no other forty, and the nearest one', async t => {
  const cwd = await place(t)

  const other = await gateway(['explain', 'nonsense'], { cwd })
  const near = await gateway(['explain', 'web__tol_7'], { cwd })

  assert.match(other.stdout, /refused by core: Unknown tool: nonsense – gateway tools lists what there is\n/)
  assert.match(near.stdout, /did you mean "web__tool_7"\?/)
})

test('fit says of a client that no row is about that it is shown what anybody is', async t => {
  const cwd = await place(t)

  const known = await gateway(['fit', 'cursor'], { cwd })
  const unknown = await gateway(['fit', 'curser'], { cwd })

  assert.doesNotMatch(known.stderr, /of the table/)
  assert.match(unknown.stderr, /no client of the table is called curser: it is shown what anybody else is/)
})

test('the change of a settings file is shown without the secrets that stand in the same line', async t => {
  const cwd = await place(t)
  const env = { HOME: cwd, XDG_STATE_HOME: join(cwd, 'state') }
  await mkdir(join(cwd, '.cursor'))
  const other = {
    command: 'x',
    env: { API_TOKEN: 'hush-hush-1' },
    headers: { Authorization: 'Bearer hush-hush-2' },
  }
  await writeFile(join(cwd, '.cursor/mcp.json'), JSON.stringify({ mcpServers: { other } }))

  const { stdout, code } = await gateway(['connect', 'cursor', '--dry-run'], { cwd, env })

  assert.equal(code, 0)
  assert.match(stdout, /"API_TOKEN": "\*\*\*"/)
  assert.doesNotMatch(stdout, /hush/)
})
