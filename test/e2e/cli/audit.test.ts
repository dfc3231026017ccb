import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout as passed } from 'node:timers/promises'
import { BEGINNING, chainLine } from '../../../plugins/audit/audit-journal.ts'
import { directory, gateway, SERVER, serving } from './run.ts'

/** Three lines of an audit as it writes them. */
function audit(): string {
  let before = BEGINNING
  const bodies = [`{"kind":"opened","previous":"${BEGINNING}","kept":0}`, '{"n":1}', '{"n":2}']
  return bodies
    .map(body => {
      const { line, hash } = chainLine(body, before)
      before = hash
      return `${line}\n`
    })
    .join('')
}

test('verify says the last hash of an audit, where it was changed, and what is missing at its end', async t => {
  const text = audit()
  const last = /"hash":"(\w{64})"\}\n$/.exec(text)?.[1] as string
  const cwd = await directory(t, {
    'audit.jsonl': text,
    'changed.jsonl': text.replace('"n":1', '"n":7'),
    'cut.jsonl': text.split('\n').slice(0, 2).join('\n'),
  })
  const verify = (...args: string[]) => gateway(['audit', 'verify', ...args], { cwd })

  const { code, stdout } = await verify('audit.jsonl')
  const changed = await verify('changed.jsonl')
  const json = await verify('changed.jsonl', '--json')
  const cut = await verify('cut.jsonl', '--head', last)

  assert.deepEqual([code, stdout], [0, `3 lines in 1 file intact; the last hash is ${last}\n`])
  assert.equal((await verify('audit.jsonl', '--head', last)).code, 0)
  assert.deepEqual([changed.code, cut.code, (await verify('other.jsonl')).code], [6, 6, 2])
  assert.match(changed.stdout, /changed\.jsonl:2 the line was modified/)
  assert.match(cut.stdout, /no line has the hash/)
  const { isIntact, problem } = JSON.parse(json.stdout) as { isIntact: boolean; problem: { line: number } }
  assert.deepEqual([isIntact, problem.line], [false, 2])
})

const HELLO = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'impatient', version: '1' },
}
const CALL = { name: 'local__echo', arguments: { message: 'hi' } }

/** The way clients end a gateway whose answer they have just read. */
const ENDINGS: Readonly<Record<string, (kill: (signal: NodeJS.Signals) => void) => Promise<void> | void>> = {
  'two signals at once': kill => {
    kill('SIGINT')
    kill('SIGTERM')
  },
  'SIGTERM, and SIGKILL 50 ms later': async kill => {
    kill('SIGTERM')
    await passed(50)
    kill('SIGKILL')
  },
  'SIGKILL after 50 ms': async kill => {
    await passed(50)
    kill('SIGKILL')
  },
}

for (const [ending, end] of Object.entries(ENDINGS))
  test(`the audit has the last call of a stdio client that ends the gateway with ${ending}`, async t => {
    const cwd = await directory(t, {
      'gateway.yaml': JSON.stringify({
        version: 1,
        upstreams: { local: { type: 'stdio', command: process.execPath, args: ['--no-warnings', SERVER] } },
        audit: { file: 'audit.jsonl', chain: true },
      }),
    })
    const { child, exit } = serving(t, ['serve', '--stdio'], { cwd })
    const send = (message: object): void =>
      void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const answered = new Promise<void>(resolve => {
      createInterface({ input: child.stdout }).on('line', line => {
        if (line.includes('"id":2')) resolve()
      })
    })

    send({ id: 1, method: 'initialize', params: HELLO })
    send({ method: 'notifications/initialized' })
    send({ id: 2, method: 'tools/call', params: CALL })
    await answered
    await end(signal => child.kill(signal))
    await exit

    const text = await readFile(join(cwd, 'audit.jsonl'), 'utf8')
    assert.match(text, /"name":"local__echo"/)
    assert.equal((await gateway(['audit', 'verify', 'audit.jsonl'], { cwd })).code, 0)
  })
