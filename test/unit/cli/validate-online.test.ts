import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { runValidate } from '../../../src/cli/local/validate.ts'
import { closeAfter, testUpstream } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { outputTo } from '../fixtures/silent-terminal.ts'

const LONG = 'synchronize_all_customer_data_across_multiple_regional_systems_again'

interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function run(
  t: TestContext,
  yaml: string,
  flags: { readonly json?: boolean; readonly within?: string } = {},
): Promise<Said> {
  const cwd = await mkdtemp(join(tmpdir(), 'validate-online-'))
  cleanup(t, () => rm(cwd, { recursive: true, force: true }))
  const file = join(cwd, 'gateway.yaml')
  await writeFile(file, yaml)
  const lines = { out: [] as string[], err: [] as string[] }
  const environment = { HOME: cwd, XDG_STATE_HOME: join(cwd, 'state'), PATH: process.env.PATH ?? '' }
  const terminal = { cwd, environment, out: outputTo(lines.out), err: outputTo(lines.err) }
  const code = await runValidate({ config: file, online: true, ...flags }, terminal)
  assert.equal(existsSync(join(cwd, 'audit.jsonl')), false)
  return { code, out: lines.out.join('\n'), err: lines.err.join('\n') }
}

async function server(t: TestContext) {
  return closeAfter(
    t,
    await testUpstream({
      tools: {
        read: () => 'read',
        [LONG]: () => 'long',
        hopeless: { inputSchema: { allOf: [{ type: 'string' }] }, run: () => 'hopeless' },
      },
    }),
  )
}

const configOf = (url: string, other: string): string => `version: 1
listeners: { pipe: { type: stdio } }
audit: { file: ./audit.jsonl }
upstreams:
  web:
    type: http
    url: ${url}
    tools:
      deny: [delete_*]
      override: { read: { arguments: { path: { value: x } } } }
  same: { type: http, url: ${other}, prefix: '' }
profiles:
  small: { tools: { allow: ['web__read'] } }
  theirs: { principals: [ann] }
`

test('it says what servers list, what clients of each kind are shown, and what that costs', async t => {
  const web = await server(t)
  const other = closeAfter(t, await testUpstream({ tools: { web__read: () => 'other' } }))
  const { code, out, err } = await run(t, configOf(web.url, other.url))

  assert.equal(code, 0)
  assert.match(out, /^gateway\.yaml is valid: 2 upstreams/)
  assert.match(out, /^web +ready +modern 2026-07-28 +3 tools$/m)
  assert.match(err, /\/upstreams\/web\/tools\/deny\/0 "delete_\*" matches no tool of "web"/)
  assert.match(err, /override\/read\/arguments\/path no matching tool has an argument "path"/)
  assert.match(out, /withheld, as another server has the name\n.*web__read +tools of same +web$/m)
  assert.match(out, new RegExp(`web__${LONG} +→ \\S+ +cursor, vscode`))
  assert.match(out, /^not shown\n +web__hopeless .*cursor/m)
  assert.match(out, /no profile +3 tools +\d+ tokens\n +small +1 tool +\d+ tokens$/m)
  assert.deepEqual(web.listCalls('tools/call'), [])
})

test('a server that is not there, and one that never answers, are said in bounded time, and the exit code is 4', async t => {
  const sockets = new Set<Socket>()
  const silent = createServer(socket => void sockets.add(socket.on('error', () => undefined)))
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  cleanup(t, async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise<void>(resolve => silent.close(() => resolve()))
  })
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/mcp`
  const web = await server(t)
  const { code, out } = await run(
    t,
    `version: 1
listeners: { pipe: { type: stdio } }
lists: { grace: 300ms, wait: 100ms }
upstreams:
  web: { type: http, url: "${web.url}" }
  none: { type: stdio, command: no-such-program-here }
  deaf: { type: http, url: "${url}" }
`,
    { within: '2s' },
  )
  assert.equal(code, 4)
  assert.match(out, /^none +failed .*no-such-program-here/m)
  assert.match(out, /^deaf +(starting|failed)/m)
  assert.match(out, /^web +ready/m)
})
