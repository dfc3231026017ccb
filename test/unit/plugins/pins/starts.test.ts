import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createPins } from '../../../../plugins/pins/compare-pins.ts'
import { writeLock } from '../../../../plugins/pins/lock-file.ts'
import { identifyPackage, type PackagePin } from '../../../../plugins/pins/identify-package.ts'
import { compareProgram } from '../../../../plugins/pins/start-guard.ts'
import type { UpstreamConfig } from '../../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, type TestGateway } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

/** Notes that it was started, and has one tool. */
const SERVER = `
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
appendFileSync(process.argv[2], 'started ')
const say = message => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const tools = [{ name: 'look', inputSchema: { type: 'object' } }]
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line)
  const info = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
  if (method === 'initialize') say({ id, result: info })
  else if (method === 'tools/list') say({ id, result: { tools } })
  else if (method === 'tools/call') say({ id, result: { content: [{ type: 'text', text: 'seen' }] } })
  else if (id !== undefined) say({ id, error: { code: -32601, message: 'no' } })
})
`
const TOOLS = [{ name: 'look', inputSchema: { type: 'object' } }]

interface Place {
  readonly directory: string
  readonly script: string
  /** Number of processes that were started so far. */
  started(): number
  /** Accepts the program as it is now. */
  lock(): void
  open(pins: string, more?: object): Promise<TestGateway>
}

function place(t: TestContext): Place {
  const directory = mkdtempSync(join(tmpdir(), 'starts-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  const script = join(directory, 'server.mjs')
  const notes = join(directory, 'notes')
  writeFileSync(script, SERVER)
  writeFileSync(notes, '')
  const spec = { type: 'stdio', command: process.execPath, args: [script, notes], cwd: '.' } as const
  return {
    directory,
    script,
    started: () => readFileSync(notes, 'utf8').split('started').length - 1,
    lock: () => {
      const own = identifyPackage(spec as unknown as UpstreamConfig, { directory, environment: {} })
      const pins = createPins({ lists: { tools: TOOLS } }, own)
      writeLock(join(directory, 'gateway.lock'), new Map([['s', pins]]))
    },
    open: async (pins, more = {}) =>
      closeAfter(t, await testGateway({ directory, config: { pins, upstreams: { s: spec }, ...more } as never })),
  }
}

function problemOf({ gateway }: TestGateway): string {
  return String(gateway.generation.graph.upstreams.get('s')?.upstream.problem)
}

for (const pins of ['withhold', 'strict'])
  test(`with "${pins}" a program that changed since it was accepted is never started, until it is accepted`, async t => {
    const { script, lock, open, started } = place(t)
    lock()
    writeFileSync(script, `${SERVER}// and something else\n`)
    const gateway = await open(pins)
    const client = closeAfter(t, await testClient(gateway))

    const refused = await client.request('tools/call', { name: 's__look', arguments: {} })
    assert.match(JSON.stringify(refused), /error|isError/)
    assert.equal(started(), 0)
    assert.match(problemOf(gateway), /program of upstream "s" differs from the accepted one: sha256/)
    assert.equal(gateway.log.filter(({ message }) => /, not started/.test(String(message))).length, 1)

    lock()
    await gateway.gateway.reload(gateway.gateway.generation.loaded)
    await gateway.gateway.control('upstream.restart', { upstream: 's' })
    await gateway.gateway.settled()
    const seen = await client.request('tools/call', { name: 's__look', arguments: {} })
    assert.match(JSON.stringify(seen.result), /seen/)
    assert.equal(started(), 1)
  })

test('a program that changes while its server runs is found at the next start', async t => {
  const { script, lock, open, started } = place(t)
  lock()
  const gateway = await open('withhold')
  assert.equal(started(), 1)
  writeFileSync(script, `${SERVER}// and something else\n`)

  await gateway.gateway.control('upstream.restart', { upstream: 's' }).catch(() => undefined)
  await gateway.gateway.settled()

  assert.equal(started(), 1)
  assert.match(problemOf(gateway), /differs from the accepted one/)
})

test('with "warn" it is started and said, and a server that nobody has locked is started', async t => {
  const one = place(t)
  one.lock()
  writeFileSync(one.script, `${SERVER}// and something else\n`)
  const gateway = await one.open('warn')
  assert.equal(one.started(), 1)
  assert.ok(gateway.log.some(({ message }) => /, started anyway/.test(String(message))))

  const other = place(t)
  await other.open('strict')
  assert.equal(other.started(), 1)
})

test('programs are compared by what both know of them', () => {
  const npm = (more: object): PackagePin => ({ type: 'npm', name: 'a', version: '1.0.0', ...more })
  const image = (digest: string): PackagePin => ({ type: 'image', image: `a@sha256:${digest}` })
  const unpinned: PackagePin = { type: 'unpinned', reason: 'a has no exact version' }
  const cases: readonly (readonly [PackagePin | undefined, PackagePin | undefined, string])[] = [
    [npm({ integrity: 'x' }), npm({ integrity: 'x' }), 'same'],
    [npm({}), npm({ integrity: 'x' }), 'same'],
    [npm({ integrity: 'x' }), npm({ integrity: 'y' }), 'changed'],
    [npm({ integrity: 'x' }), npm({}), 'unknown'],
    [npm({ integrity: 'x', sha256: '1' }), npm({ sha256: '2' }), 'changed'],
    [npm({}), npm({ version: '1.0.1' }), 'changed'],
    [npm({}), npm({ name: 'b' }), 'changed'],
    [npm({}), unpinned, 'changed'],
    [npm({}), undefined, 'changed'],
    [unpinned, npm({}), 'changed'],
    [unpinned, unpinned, 'unknown'],
    [image('1'), image('1'), 'same'],
    [image('1'), image('2'), 'changed'],
    [{ type: 'pypi', name: 'a', version: '1' }, { type: 'pypi', name: 'a', version: '2' }, 'changed'],
    [undefined, npm({}), 'new'],
    [undefined, undefined, 'same'],
  ]
  for (const [accepted, now, status] of cases)
    assert.equal(compareProgram(accepted, now), status, JSON.stringify([accepted, now]))
})
