import assert from 'node:assert/strict'
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { test, type TestContext } from 'node:test'
import type { Access } from '../../../../../plugins/oauth/types.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'
import { grantOf, tokenServer, type TokenServer } from '../../../../fixtures/oauth/token-server.ts'
import { KEY, stateOf, vaultIn } from './kit.ts'

const PROGRAM = fileURLToPath(new URL('../../../../fixtures/oauth/refreshing-process.ts', import.meta.url))
const CALLS = 50

interface Running {
  readonly child: ChildProcessWithoutNullStreams
  /** The next line that it prints. */
  line(): Promise<string>
  answers(): Promise<Access[]>
}

async function running(
  context: TestContext,
  state: string,
  { url }: TokenServer,
  mode = '',
  laterMs = 0,
): Promise<Running> {
  const flags = ['--disable-warning=ExperimentalWarning', PROGRAM]
  const more = [state, url, KEY.account, KEY.resource, String(CALLS), mode, String(laterMs)]
  const child = spawn(process.execPath, [...flags, ...more], { stdio: 'pipe' })
  cleanup(context, () => child.kill('SIGKILL'))
  child.stderr.pipe(process.stderr)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async (): Promise<string> => String((await lines.next()).value)
  assert.equal(await line(), 'ready')
  const answers = async (): Promise<Access[]> => {
    child.stdin.write('go\n')
    return JSON.parse(await line()) as Access[]
  }
  return { child, line, answers }
}

test('two gateways with fifty callers each refresh an ending token once, and all get the new one', async context => {
  const state = stateOf(context)
  const server = await tokenServer()
  cleanup(context, () => server.close())
  server.delayMs = 300
  await vaultIn(context, state).put(KEY, grantOf('f', Date.now() + 1000))
  const two = await Promise.all([running(context, state, server, '', 900), running(context, state, server, '', 900)])
  const answers = (await Promise.all(two.map(one => one.answers()))).flat()

  assert.deepEqual(server.presented, ['f.0'])
  assert.deepEqual(server.revoked, [])
  assert.equal(answers.length, 2 * CALLS)
  for (const answer of answers) assert.equal(answer.kind === 'token' && answer.token, 'access-f.1')
})

test('a gateway that is killed between answer and write leaves a login that is needed, and nobody asks again and again', async context => {
  const state = stateOf(context)
  const server = await tokenServer()
  cleanup(context, () => server.close())
  await vaultIn(context, state).put(KEY, grantOf('f', Date.now() + 1000))
  const first = await running(context, state, server, 'stop', 2000)
  first.child.stdin.write('go\n')
  assert.equal(await first.line(), 'answered')
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')

  // Until its lease is over nobody else presents the token that may have been used.
  const early = await (await running(context, state, server, '', 10_000)).answers()
  assert.deepEqual([...new Set(early.map(({ kind }) => kind))], ['unavailable'])
  assert.deepEqual(server.presented, ['f.0'])

  const late = await (await running(context, state, server, '', 46_000)).answers()
  assert.deepEqual(server.presented, ['f.0', 'f.0'])
  for (const answer of late) assert.match(answer.kind === 'login' ? answer.why : answer.kind, /invalid_grant/)
})
