import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { until } from '../../fixtures/until.ts'
import { directory, gateway, serving, type Serving } from '../cli/run.ts'

/** Notes each call in a file, and answers none. */
const SERVER = `
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
const say = message => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const info = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'pay', version: '1' } }
const tools = [{ name: 'send', inputSchema: { type: 'object' } }]
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') say({ id, result: info })
  else if (method === 'tools/list') say({ id, result: { tools } })
  else if (method === 'tools/call') appendFileSync(process.argv[2], JSON.stringify(params.arguments) + '\\n')
  else if (id !== undefined) say({ id, error: { code: -32601, message: 'no' } })
})
`
const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: { elicitation: {} },
  clientInfo: { name: 'c', version: '1' },
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly result?: object
}

/** A client on a pipe that says yes to every form. */
function client(child: Serving['child']): {
  send: (message: object) => void
  answered: (id: number) => Promise<Message | undefined>
} {
  const seen = new Map<number, Message>()
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  createInterface({ input: child.stdout }).on('line', line => {
    const message = JSON.parse(line) as Message
    const { id, method } = message
    if (id === undefined) return
    if (method === 'elicitation/create') send({ id, result: { action: 'accept', content: { approve: true } } })
    else seen.set(id, message)
  })
  return { send, answered: id => until(() => seen.has(id)).then(() => seen.get(id)) }
}

/** The calls that the server was given so far. */
function sentTo(cwd: string): string {
  const file = join(cwd, 'sent.jsonl')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

async function place(t: TestContext): Promise<string> {
  return directory(t, {
    'server.mjs': SERVER,
    'gateway.yaml': JSON.stringify({
      version: 1,
      upstreams: { pay: { type: 'stdio', command: process.execPath, args: ['server.mjs', 'sent.jsonl'] } },
      policy: { ask: [{ for: 'pay__send', when: 'true', name: 'money' }] },
      approve: {},
      state: { directory: 'state' },
      audit: { file: 'audit.jsonl' },
    }),
  })
}

test('a call that was approved when the gateway was killed is told at the next start, and never run again', async t => {
  const cwd = await place(t)
  const audit = (): string => readFileSync(join(cwd, 'audit.jsonl'), 'utf8')
  const first = serving(t, ['serve', '--stdio'], { cwd })
  const one = client(first.child)
  one.send({ id: 1, method: 'initialize', params: HELLO })
  one.send({ method: 'notifications/initialized' })
  one.send({ id: 2, method: 'tools/call', params: { name: 'pay__send', arguments: { amount: 7 } } })
  await until(() => sentTo(cwd).endsWith('\n'))
  first.child.kill('SIGKILL')
  await first.exit

  const second = serving(t, ['serve', '--stdio'], { cwd })
  const other = client(second.child)
  other.send({ id: 1, method: 'initialize', params: HELLO })
  await other.answered(1)
  await until(() => audit().includes('approved_outcome_unknown'))
  second.child.stdin.end()
  await second.exit

  assert.equal(sentTo(cwd), '{"amount":7}\n')
  assert.equal(audit().split('approved_outcome_unknown').length, 2)
  const third = serving(t, ['serve', '--stdio'], { cwd })
  const last = client(third.child)
  last.send({ id: 1, method: 'initialize', params: HELLO })
  await last.answered(1)
  third.child.stdin.end()
  await third.exit
  assert.equal(sentTo(cwd), '{"amount":7}\n')
  assert.equal(audit().split('approved_outcome_unknown').length, 2)
})

test('the owner sees what waits at a terminal, and lets it run or not', async t => {
  const cwd = await place(t)
  const { child } = serving(t, ['serve', '--stdio', '--set', 'approve.by=[owner]'], { cwd })
  const one = client(child)
  one.send({ id: 1, method: 'initialize', params: HELLO })
  one.send({ method: 'notifications/initialized' })
  await one.answered(1)
  one.send({ id: 2, method: 'tools/call', params: { name: 'pay__send', arguments: { amount: 7 } } })
  const waiting = async (): Promise<string> => {
    for (;;) {
      const { stdout } = await gateway(['approvals', 'list', '--json'], { cwd })
      // Until the gateway listens, that is an error in JSON.
      const { approvals = [] } = JSON.parse(stdout) as { approvals?: { id: string }[] }
      const [first] = approvals
      if (first !== undefined) return first.id
    }
  }
  const denied = await waiting()

  assert.match((await gateway(['approvals', 'list'], { cwd })).stdout, /money +pay__send \{"amount":7\}/)
  assert.equal((await gateway(['approvals', 'deny', 'other'], { cwd })).code, 5)
  assert.equal((await gateway(['approvals', 'deny', denied], { cwd })).code, 0)
  assert.match(JSON.stringify((await one.answered(2))?.result), /approval_denied.*"isError":true/)
  assert.equal((await gateway(['approvals', 'approve', denied], { cwd })).code, 5)
  assert.equal(sentTo(cwd), '')

  one.send({ id: 3, method: 'tools/call', params: { name: 'pay__send', arguments: { amount: 8 } } })
  const approved = await waiting()
  assert.equal((await gateway(['approvals', 'approve', approved], { cwd })).code, 0)
  await until(() => sentTo(cwd).endsWith('\n'))
  assert.equal((await gateway(['approvals', 'approve', approved], { cwd })).code, 5)
  assert.equal(sentTo(cwd), '{"amount":8}\n')
})

test('a call at a terminal that waits says so once, and how to let it run or not', async t => {
  const cwd = await place(t)
  const owner = ['--set', 'approve.by=[owner]']
  const one = client(serving(t, ['serve', '--stdio', ...owner], { cwd }).child)
  one.send({ id: 1, method: 'initialize', params: HELLO })
  await one.answered(1)

  const call = serving(t, ['call', 'pay__send', 'amount=7', '--json'], { cwd })
  let stdout = ''
  call.child.stdout.on('data', (bytes: Buffer) => (stdout += bytes.toString()))
  await until(() => /^waiting for the tool, or for an approval: see gateway approvals list$/m.test(call.stderr()))
  const listed = await gateway(['approvals', 'list', '--json'], { cwd })
  const id = /"id": ?"([^"]+)"/.exec(listed.stdout)?.[1] ?? ''

  assert.equal((await gateway(['approvals', 'deny', id], { cwd })).code, 0)
  assert.equal(await call.exit, 8)
  assert.match(JSON.stringify(JSON.parse(stdout)), /approval_denied/)
  assert.equal(call.stderr().split('waiting for').length, 2, call.stderr())
})

test('a call in a gateway of its own that waits says that no command reaches it', async t => {
  const cwd = await place(t)
  const call = serving(t, ['call', 'pay__send', '--set', 'approve.by=[owner]'], { cwd })

  const said = /^waiting for the tool, .* a temporary gateway cannot ask for approvals: run gateway up first$/m
  await until(() => said.test(call.stderr()))
  call.child.kill('SIGTERM')
  await call.exit
  assert.equal(sentTo(cwd), '')
})
