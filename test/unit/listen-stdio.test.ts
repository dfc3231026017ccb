import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { stdioListener } from '../../src/transport/listen-stdio.ts'
import { FakeGate, makeListener, realClock, result } from './listen-fake-gate.ts'
import { envelope, INITIALIZE, Lines } from './listen-http-client.ts'

type Sent = Record<string, unknown>

async function pipe({ highWaterMark, grace = 5000 }: { highWaterMark?: number; grace?: number } = {}) {
  const gate = new FakeGate()
  const input = new PassThrough()
  const output = new PassThrough(highWaterMark === undefined ? {} : { highWaterMark })
  const listener = makeListener(stdioListener({ input, output }), { type: 'stdio' }, gate, realClock, {
    shutdown: { grace },
  })
  await listener.start()
  let lines: Lines | undefined
  return {
    gate,
    input,
    output,
    listener,
    write: (text: string) => input.write(text),
    send: (...messages: Sent[]) =>
      input.write(messages.map(message => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('')),
    async next(): Promise<any> {
      lines ??= new Lines(output)
      const line = await lines.next()
      return line === undefined ? undefined : JSON.parse(line)
    },
  }
}

const modern = (method: string, id: unknown, extra: object = {}, params: object = {}): Sent => ({
  id,
  method,
  params: { ...params, _meta: envelope(extra) },
})

test('a legacy client shakes hands and calls, on one session', async () => {
  const client = await pipe()

  client.send(
    INITIALIZE,
    { method: 'notifications/initialized' },
    { id: 1, method: 'tools/list' },
    { id: '1', method: 'prompts/list' },
  )

  assert.equal((await client.next()).result.protocolVersion, '2025-06-18')
  assert.deepEqual(await client.next(), {
    jsonrpc: '2.0',
    id: 1,
    result: { method: 'tools/list', arguments: null },
  })
  assert.equal((await client.next()).id, '1')
  assert.equal(client.gate.opened.length, 1)
  assert.equal(client.gate.opened[0]?.client.info.name, 'old')
  assert.deepEqual(
    client.gate.notifications.map(({ method }) => method),
    ['notifications/initialized'],
  )
})

test('order is kept while the session opens', async () => {
  const client = await pipe()
  let open: () => void = () => undefined
  client.gate.opening = () => new Promise(resolve => (open = resolve))

  client.send(INITIALIZE, { method: 'notifications/initialized' }, { id: 1, method: 'tools/list' })
  await new Promise(resolve => setImmediate(resolve))
  const before = client.gate.seen.length
  open()
  await client.next()
  await client.next()

  assert.equal(before, 0)
  assert.deepEqual(
    client.gate.seen.map(({ inbound }) => inbound.method),
    ['initialize', 'tools/list'],
  )
  assert.equal(client.gate.notifications.length, 1)
})

test('a modern client needs no handshake, and what plugins keep is one for the pipe', async () => {
  const client = await pipe()

  client.send(
    modern('slow/a', 1),
    modern('slow/b', 2, { 'io.modelcontextprotocol/logLevel': 'debug' }),
    modern('slow/c', 3),
  )
  await client.gate.next('slow/c')
  const [first, second, third] = client.gate.seen.map(({ session }) => session)
  first!.slots[0] = 'minted'

  assert.equal(client.gate.opened.length, 1)
  assert.equal(first, third)
  assert.equal(second?.slots[0], 'minted')
  assert.equal(second?.id, first?.id)
  assert.deepEqual([first?.client.logLevel, second?.client.logLevel], [undefined, 'debug'])
})

test('results have the form of the era', async () => {
  const client = await pipe()

  client.send(modern('tools/list', 1))

  assert.deepEqual((await client.next()).result, {
    resultType: 'complete',
    ttlMs: 0,
    cacheScope: 'private',
    method: 'tools/list',
    arguments: null,
  })
})

test('server/discover alone decides nothing: initialize may follow', async () => {
  const client = await pipe()

  client.send(modern('server/discover', 'd'))
  const discovered = await client.next()
  client.send(INITIALIZE, { id: 1, method: 'tools/list' })

  assert.equal(discovered.id, 'd')
  assert.equal((await client.next()).result.protocolVersion, '2025-06-18')
  assert.equal((await client.next()).result.resultType, undefined)
  assert.deepEqual(
    client.gate.opened.map(({ client: { era } }) => era),
    ['modern', 'legacy'],
  )
  assert.equal(client.gate.closed.length, 1)
})

test('the era stays: neither side of it takes the other', async () => {
  const old = await pipe()
  old.send(INITIALIZE)
  await old.next()
  old.send(modern('tools/list', 1), modern('server/discover', 2))
  const refused = await old.next()
  const discovered = await old.next()

  const fresh = await pipe()
  fresh.send(modern('tools/list', 1))
  await fresh.next()
  fresh.send(INITIALIZE, { id: 2, method: 'tools/list' })
  const handshake = await fresh.next()
  const bare = await fresh.next()

  assert.equal(refused.error.code, -32600)
  assert.equal(discovered.result.resultType, 'complete')
  assert.equal(handshake.error.code, -32022)
  assert.deepEqual(handshake.error.data.supported, ['2026-07-28'])
  assert.equal(bare.error.code, -32602)
})

test('a ping before all else is answered and decides nothing', async () => {
  const client = await pipe()

  client.send({ id: 1, method: 'ping' }, modern('tools/list', 2))

  assert.deepEqual(await client.next(), { jsonrpc: '2.0', id: 1, result: {} })
  assert.equal((await client.next()).result.resultType, 'complete')
})

test('a call without a handshake is a legacy call of someone unknown', async () => {
  const client = await pipe()

  client.send({ id: 1, method: 'tools/list' })
  await client.next()
  client.send(INITIALIZE)
  await client.next()

  assert.equal(client.gate.opened.length, 1)
  assert.equal(client.gate.opened[0]?.client.info.name, 'old')
})

test('what is wrong with a modern request is told as over HTTP', async () => {
  const client = await pipe()
  const version = { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' }

  client.send(modern('tools/list', 1, version), modern('ping', 2), {
    id: 3,
    method: 'x',
    params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
  })

  assert.deepEqual((await client.next()).error.data, { supported: ['2026-07-28'], requested: '2099-01-01' })
  assert.equal((await client.next()).error.code, -32601)
  assert.equal((await client.next()).error.code, -32602)
})

test('what is no message is answered, and the next line is read', async () => {
  const client = await pipe()

  client.write('\uFEFF{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n\r\n{\n')
  client.input.write(Buffer.from([0xff, 0x0a]))
  client.write(
    `"${'x'.repeat(11 * 1024 * 1024)}"\n{"jsonrpc":"2.0","id":null,"method":"x"}\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n`,
  )

  assert.equal((await client.next()).id, 1)
  for (const code of [-32700, -32700, -32700, -32600]) {
    const { id, error } = await client.next()
    assert.deepEqual([id, error.code], [null, code])
  }
  assert.equal((await client.next()).id, 2)
})

test('a cancellation ends strictly its request, which is not answered', async () => {
  const client = await pipe()
  client.send(INITIALIZE, { id: 1, method: 'slow/x' }, { id: '1', method: 'slow/x' })
  await client.next()
  const cancelled = { method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough' } }

  client.send(cancelled, { id: 9, method: 'tools/list' })
  const after = await client.next()

  assert.equal(after.id, 9)
  assert.deepEqual(
    client.gate.seen.map(({ reason }) => reason),
    [undefined, 'enough', undefined, undefined],
  )
  assert.equal(client.gate.notifications.length, 0)
})

test('an id under way cannot be used again, and too many requests are refused', async () => {
  const client = await pipe()
  client.send(INITIALIZE, { id: 1, method: 'slow/x' })
  await client.next()

  client.send({ id: 1, method: 'ping' })
  const taken = await client.next()
  client.send(...Array.from({ length: 1024 }, (_, index) => ({ id: 10 + index, method: 'slow/x' })))
  const refused = await client.next()

  assert.equal(taken.error.code, -32600)
  assert.deepEqual([refused.id, refused.error.code], [1033, -32603])
})

test('a session can be told something unasked, and a request its progress', async () => {
  const client = await pipe()
  client.send(INITIALIZE, { id: 1, method: 'slow/x' })
  await client.next()

  const told = client.gate.opened[0]?.notify({ method: 'notifications/x', params: undefined })
  client.gate.seen[1]?.emit('notifications/progress', { progress: 1 })
  client.gate.seen[1]?.resolve(result({}))

  assert.equal(told, true)
  assert.deepEqual(
    [(await client.next()).method, (await client.next()).method, (await client.next()).id],
    ['notifications/x', 'notifications/progress', 1],
  )
})

test('a listen is stamped, ends by cancellation without an answer, and gracefully when we stop', async () => {
  const client = await pipe()
  const key = 'io.modelcontextprotocol/subscriptionId'
  client.send(modern('subscriptions/listen', 'a'), modern('subscriptions/listen', 2))
  await client.gate.next('subscriptions/listen')
  await new Promise(resolve => setImmediate(resolve))
  for (const seen of client.gate.seen) seen.emit('notifications/tools/list_changed', { a: 1 })

  const first = await client.next()
  const second = await client.next()
  client.send({ method: 'notifications/cancelled', params: { requestId: 'a' } })
  await client.gate.seen[0]?.cancelled
  await client.listener.stop(1000)
  const last = await client.next()

  assert.deepEqual(
    [first.params, second.params],
    [
      { a: 1, _meta: { [key]: 'a' } },
      { a: 1, _meta: { [key]: 2 } },
    ],
  )
  assert.deepEqual(last, { jsonrpc: '2.0', id: 2, result: { resultType: 'complete', _meta: { [key]: 2 } } })
})

test('a batch of a legacy client is answered with one array', async () => {
  const client = await pipe()
  client.send(INITIALIZE)
  await client.next()

  client.write(
    '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]\n[]\n',
  )
  const answers = [await client.next(), await client.next()]

  const array = answers.find(Array.isArray)
  const refused = answers.find(answer => !Array.isArray(answer))
  assert.deepEqual(
    array.map((answer: Sent) => answer.id),
    [1, 2],
  )
  assert.equal(refused.error.code, -32600)
})

test('the messages of a tick are one chunk', async () => {
  const client = await pipe()
  client.send(INITIALIZE)
  await once(client.output, 'data')
  const chunks: Buffer[] = []
  client.output.on('data', chunk => chunks.push(chunk as Buffer))

  client.send(...Array.from({ length: 50 }, (_, id) => ({ id: id + 1, method: 'tools/list' })))
  while (Buffer.concat(chunks).toString().split('\n').length < 51) await once(client.output, 'data')

  assert.equal(chunks.length, 1)
})

test('while the reader is behind nothing more is read, and nothing is lost', async () => {
  const client = await pipe({ highWaterMark: 1024 })
  client.gate.answering = () => result({ text: 'x'.repeat(10_000) })
  client.send(INITIALIZE)
  while (client.output.readableLength === 0) await new Promise(resolve => setImmediate(resolve))

  client.send(...Array.from({ length: 20 }, (_, id) => ({ id: id + 1, method: 'tools/list' })))
  await new Promise(resolve => setImmediate(resolve))
  const ran = client.gate.seen.length
  const ids: unknown[] = []
  for (let count = 0; count < 21; count++) ids.push((await client.next()).id)

  assert.equal(ran, 1)
  assert.deepEqual(
    ids,
    Array.from({ length: 21 }, (_, id) => id),
  )
})

test('when the client closes its end, what is under way is still answered, and then it is over', async () => {
  const client = await pipe()
  client.send(INITIALIZE)
  await client.next()
  client.input.end('{"jsonrpc":"2.0","id":1,"method":"slow/x"}')
  const seen = await client.gate.next('slow/x')
  let ended = false
  void client.listener.ended?.then(() => (ended = true))

  await new Promise(resolve => setImmediate(resolve))
  const before = ended
  seen.resolve(result({ late: true }))
  const answer = await client.next()
  await client.listener.ended

  assert.equal(before, false)
  assert.deepEqual(answer.result, { late: true })
  assert.deepEqual(
    client.gate.closed.map(({ reason }) => reason),
    ['the client closed the pipe'],
  )
})

test('what does not end in time after the client has left is cancelled', async () => {
  const client = await pipe({ grace: 20 })
  client.send(INITIALIZE, { id: 1, method: 'slow/x' })
  await client.next()

  client.input.end()
  await client.listener.ended

  assert.equal(client.gate.seen[1]?.reason, 'shutdown')
})

test('a client that stops reading for good ends the conversation', async () => {
  const client = await pipe()
  client.send(INITIALIZE, { id: 1, method: 'slow/x' })
  await client.next()

  client.output.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
  await client.listener.ended

  assert.equal(client.gate.seen[1]?.reason, 'shutdown')
  assert.equal(client.gate.closed.length, 1)
})

test('a session that a plugin refuses is an error, and the next request tries again', async () => {
  const client = await pipe()
  client.gate.opening = async () => {
    throw new Error('secret')
  }
  client.send(INITIALIZE)
  const refused = await client.next()
  client.gate.opening = async () => undefined
  client.send(INITIALIZE)

  assert.equal(refused.error.code, -32603)
  assert.doesNotMatch(JSON.stringify(refused), /secret/)
  assert.equal((await client.next()).result.protocolVersion, '2025-06-18')
})

test('a real process talks on its own stdin and stdout, and ends with them', async t => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('listen-stdio-child.ts', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = new Lines(child.stdout)
  const exited = once(child, 'exit')

  child.stdin.write(`${JSON.stringify(INITIALIZE)}\n{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n`)
  const first = JSON.parse((await lines.next()) ?? '')
  const second = JSON.parse((await lines.next()) ?? '')
  child.stdin.end('{"jsonrpc":"2.0","id":2,"method":"tools/list"}')
  const last = JSON.parse((await lines.next()) ?? '')
  const [code] = await exited

  assert.deepEqual([first.id, second.id, last.id], [0, 1, 2])
  assert.equal(await lines.next(), undefined)
  assert.equal(code, 0)
})

test('a real process ends when nobody reads its stdout', async t => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('listen-stdio-child.ts', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  child.stdin.on('error', () => undefined)
  child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`)
  await once(child.stdout, 'data')

  child.stdout.destroy()
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
  const [code] = await exited

  assert.equal(code, 0)
})
