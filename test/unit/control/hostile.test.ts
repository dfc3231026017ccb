import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectControl } from '../../../src/control/client.ts'
import { MAX_REQUEST } from '../../../src/control/protocol.ts'
import { ask, directory, opened, raw, skip } from './bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

test(
  'garbage, broken HTTP, an oversized body and an oversized head end their connection, and hurt no other',
  { skip },
  async t => {
    const socket = join(await directory(t), 'a.sock')
    await opened(t, socket)
    const client = await connectControl(socket)
    const wrong = [
      ['\u0000\u0001\u0002\n', / 400 /],
      ['GET\r\n\r\n', / 400 /],
      ['POST /v1/ps HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n', / 400 /],
      [`POST /v1/ps HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`, / 4\d\d /],
      [
        `POST /v1/reload HTTP/1.1\r\nhost: a\r\ncontent-length: ${MAX_REQUEST + 1}\r\n\r\n${'x'.repeat(MAX_REQUEST + 1)}`,
        / 413 /,
      ],
    ] as const

    for (const [text, status] of wrong) {
      const peer = raw(t, socket)
      peer.to.write(text)
      assert.match(await peer.all, status, text.slice(0, 30))
    }
    assert.deepEqual(await client.request('ps'), { verb: 'ps', params: {} })
  },
)

test('paths, methods and bodies that mean nothing are refused with a reason', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  await opened(t, socket)
  const cases = [
    ['GET', '/', 404, 'GW_VERB_UNKNOWN'],
    ['POST', '/v2/ps', 404, 'GW_VERB_UNKNOWN'],
    ['POST', '/v1/', 404, 'GW_VERB_UNKNOWN'],
    ['GET', '/v1/ps', 400, 'GW_VERB_PARAMS'],
    ['DELETE', '/v1/cache.ls', 400, 'GW_VERB_PARAMS'],
  ] as const
  for (const [method, path, status, code] of cases) {
    const answer = await ask(socket, method, path)
    assert.equal(answer.status, status, path)
    assert.equal((JSON.parse(answer.text) as { error: { code: string } }).error.code, code, path)
  }
  for (const body of ['[]', '1', '{', '{"a":1}}']) {
    const answer = await ask(socket, 'POST', '/v1/reload', { body })
    assert.deepEqual([answer.status, /must be a JSON object/.test(answer.text)], [400, true])
  }
})

test('a web page is refused, should something carry its requests here', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  await opened(t, socket)

  const answer = await ask(socket, 'POST', '/v1/reload', { headers: { origin: 'http://evil.example' } })

  assert.match(answer.text, /browsers are not allowed/)
})

test('a connection that sends nothing, or half a request, is closed', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  await opened(t, socket, { arrivalMs: 1000 })
  const alive = setInterval(() => undefined, 1000)
  cleanup(t, () => clearInterval(alive))
  const peers = ['', 'POST /v1/ps HT', 'POST /v1/reload HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{'].map(
    text => {
      const peer = raw(t, socket)
      peer.to.write(text)
      return peer
    },
  )

  await Promise.all(peers.map(peer => peer.closed))

  const client = await connectControl(socket)
  assert.deepEqual(await client.request('ps'), { verb: 'ps', params: {} })
})

test('of a hundred connections those within the bound are served, and room comes back', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  let release = (): void => undefined
  const held = new Promise<void>(resolve => (release = resolve))
  await opened(t, socket, {
    control: async verb => {
      if (verb === 'hold.it') await held
      return { verb }
    },
  })

  let refused = 0
  const all = Array.from({ length: 100 }, () =>
    ask(socket, 'POST', '/v1/hold.it').catch(() => {
      if (++refused === 36) release()
    }),
  )
  const answers = (await Promise.all(all)).filter(one => one !== undefined)

  assert.deepEqual([answers.length, refused], [64, 36])
  assert.equal((await ask(socket, 'POST', '/v1/ps')).status, 200)
})

test('requests piled up on one connection are bounded', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  let most = 0
  let now = 0
  await opened(t, socket, {
    control: async () => {
      most = Math.max(most, ++now)
      await new Promise(resolve => setTimeout(resolve, 20))
      now--
      return {}
    },
  })
  const peer = raw(t, socket)
  peer.to.end('POST /v1/ps HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(2000))

  const text = await peer.all

  assert.ok(most <= 256, `${most} at once`)
  assert.match(text, / 503 /)
})

test('a slow reader of a stream misses lines and is sent how many', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  const text = 'x'.repeat(1000)
  let last = (): void => undefined
  await opened(t, socket, {
    control: (_verb, _params, { onNotification }) => {
      for (let i = 0; i < 5000; i++) onNotification?.({ method: 'log', params: { line: text } })
      return new Promise(resolve => {
        last = () => {
          onNotification?.({ method: 'log', params: { line: 'last' } })
          resolve({})
        }
      })
    },
  })
  const client = await connectControl(socket)
  let received = 0
  let missed = 0
  await client.request(
    'upstream.logs',
    { upstream: 'web', follow: true },
    {
      onNotification: ({ params }) => {
        if (params?.line !== undefined) received++
        missed += Number(params?.missed ?? 0)
        if (received === 500) setTimeout(last, 50)
      },
    },
  )

  assert.ok(missed > 0 && received + missed === 5001, `${received} received, ${missed} missed`)
})

test('a program that speaks something else is no gateway', { skip }, async t => {
  const socket = join(await directory(t), 'old.sock')
  const old = createServer(connection => {
    connection.once('data', () =>
      connection.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}\n'),
    )
  }).listen(socket)
  cleanup(t, () => old.close())
  await once(old, 'listening')

  await assert.rejects(connectControl(socket), {
    code: 'GW_CONTROL',
    message: /not a control socket/,
  })
})
