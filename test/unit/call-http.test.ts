import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { serveHttp } from '../fixtures/everything/http.ts'
import { World } from '../fixtures/everything/world.ts'
import { event, json, legacy, modern, peer, refusal, result, said, stream } from './fixtures/http-peer.ts'
import { bench, callOf, httpSpec, program, textOf, toolCall, until } from './fixtures/upstream-bench.ts'

const MODERN = { era: 'modern', version: '2026-07-28' } as const

describe('a real server over HTTP', () => {
  it('of the legacy era is spoken to with a session', async t => {
    const { upstream } = await bench(t, httpSpec(await everything(t)))

    await upstream.start()

    assert.equal(upstream.server?.era, 'legacy')
    const call = toolCall('trigger-long-running-operation', { duration: 0.2, steps: 2 }, { progressToken: 'p' })
    assert.match(textOf(await upstream.dispatch(call)), /completed/)
    assert.deepEqual(call.emitted.map(said => said.params?.progressToken), ['p', 'p'])
  })

  for (const era of ['legacy', 'modern'] as const) {
    it(`that speaks ${era} alone is found to do so`, async t => {
      const server = await serveHttp(new World(), era, 0)
      t.after(() => server.close())
      const { upstream } = await bench(t, httpSpec(server.url))

      await upstream.start()

      assert.equal(upstream.problem, undefined)
      assert.equal(upstream.server?.era, era)
      assert.ok('result' in (await upstream.dispatch(toolCall('test_simple_text'))))
      assert.ok('result' in (await upstream.dispatch(callOf('resources/read', { uri: 'test://static-text' }))))
    })
  }

  async function everything(t: TestContext): Promise<string> {
    const port = await freePort()
    const server = spawn(program('mcp-server-everything'), ['streamableHttp'], { env: { ...process.env, PORT: String(port) }, stdio: ['ignore', 'ignore', 'pipe'] })
    t.after(() => server.kill('SIGKILL'))
    let log = ''
    server.stderr.on('data', chunk => (log += String(chunk)))
    await until(() => log.includes('listening'), 'it listens')
    return `http://127.0.0.1:${port}/mcp`
  }

  async function freePort(): Promise<number> {
    const server = createServer()
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise(resolve => server.close(resolve))
    return port
  }
})

describe('the headers of a request', () => {
  it('of a modern server say what its body says, and carry the parameters', async t => {
    const server = await peer(t, modern((heard, response) => result(response, heard, { resultType: 'complete', ...said('ok') })))
    const { upstream } = await bench(t, httpSpec(server.url, { headers: { Authorization: 'Bearer s' } }))
    const call = callOf('tools/call', { name: 'größe', _meta: { progressToken: 'mine', other: 1 } }, { ...MODERN, logLevel: 'info', capabilities: TASKS }, HEADERS)

    await upstream.dispatch(call)

    const { headers, message } = server.of('tools/call')[0] ?? assert.fail()
    assert.equal(headers['mcp-protocol-version'], '2026-07-28')
    assert.equal(headers['mcp-method'], 'tools/call')
    assert.equal(headers['mcp-name'], '=?base64?Z3LDtsOfZQ==?=')
    assert.equal(headers['mcp-param-region'], 'eu')
    assert.equal(headers['x-session-id'], 's1')
    assert.equal(headers.authorization, 'Bearer s')
    assert.equal(headers.accept, 'application/json, text/event-stream')
    assert.equal(headers['mcp-session-id'], undefined)
    assert.deepEqual(message.params?._meta, {
      other: 1,
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test-client', version: '9' },
      'io.modelcontextprotocol/clientCapabilities': { sampling: {}, extensions: { 'a/b': {} } },
      'io.modelcontextprotocol/logLevel': 'info',
      progressToken: message.id,
    })
  })

  it('of a legacy server carry its session and the version agreed on', async t => {
    const server = await peer(t, legacy((heard, response) => result(response, heard, said('ok'))))
    const { upstream } = await bench(t, httpSpec(server.url))

    await upstream.dispatch(callOf('tools/call', { name: 'a' }, {}, HEADERS))
    await upstream.stop()

    const { headers } = server.of('tools/call')[0] ?? assert.fail()
    assert.equal(headers['mcp-session-id'], 'session-1')
    assert.equal(headers['mcp-protocol-version'], '2025-06-18')
    assert.equal(headers['mcp-method'], undefined)
    assert.equal(headers.host, new URL(server.url).host)
    assert.equal(server.of('initialize')[0]?.headers['mcp-protocol-version'], undefined)
    assert.equal(server.of('notifications/initialized')[0]?.headers['mcp-session-id'], 'session-1')
    assert.equal(server.heard.at(-1)?.verb, 'DELETE')
  })

  it('that cannot be written fail their call alone', async t => {
    const server = await peer(t, modern((heard, response) => result(response, heard, said('ok'))))
    const { upstream } = await bench(t, httpSpec(server.url))

    await assert.rejects(upstream.dispatch(callOf('tools/call', { name: 'a' }, {}, { 'x-bad': 'a\nb' })), /cannot be written as HTTP/)

    assert.equal(upstream.state, 'ready')
  })

  const TASKS = { sampling: {}, extensions: { 'io.modelcontextprotocol/tasks': {}, 'a/b': {} } }
  const HEADERS = { 'mcp-param-region': 'eu', 'x-session-id': 's1', authorization: 'Bearer stolen', host: 'evil', 'mcp-session-id': 'x', 'content-type': 'text/plain', cookie: 'c' }
})

describe('a reply', () => {
  it('may be a stream: notifications first, then the answer', async t => {
    const server = await peer(
      t,
      modern((heard, response) => {
        const { id, params } = heard.message
        const token = (params?._meta as { progressToken?: number }).progressToken
        stream(response)
        response.write(event({ method: 'notifications/progress', params: { progressToken: token, progress: 1 } }))
        response.write(event({ method: 'notifications/progress', params: { progressToken: 99, progress: 1 } }))
        response.write(event({ method: 'notifications/message', params: { level: 'info', data: 'ü' } }))
        const answer = Buffer.from(event({ id: id ?? 0, result: said('größe') }))
        response.write(answer.subarray(0, answer.indexOf(0xc3) + 1))
        setImmediate(() => response.end(answer.subarray(answer.indexOf(0xc3) + 1)))
      }),
    )
    const { upstream } = await bench(t, httpSpec(server.url))
    const call = toolCall('a', {}, { progressToken: 'mine' }, MODERN)

    assert.equal(textOf(await upstream.dispatch(call)), 'größe')

    assert.deepEqual(call.emitted.map(({ method, params }) => [method, params?.progressToken ?? params?.data]), [
      ['notifications/progress', 'mine'],
      ['notifications/message', 'ü'],
    ])
  })

  it('that does not end fails only its call once it is too large', async t => {
    const server = await peer(
      t,
      modern((heard, response) => {
        if (heard.message.params?.name === 'small') return result(response, heard, said('ok'))
        const isStream = heard.message.params?.name === 'stream'
        if (isStream) stream(response).write('data: ')
        else response.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc":"2.0","result":{"x":"')
        pour(response)
      }),
    )
    const { upstream } = await bench(t, httpSpec(server.url, { maxReply: '256KiB' }))

    const [whole, streamed, small] = await Promise.allSettled(['json', 'stream', 'small'].map(name => upstream.dispatch(toolCall(name))))

    assert.equal(whole?.status === 'rejected' && whole.reason.code, 'GW_TOO_LARGE')
    assert.equal(streamed?.status === 'rejected' && streamed.reason.code, 'GW_TOO_LARGE')
    assert.equal(small?.status, 'fulfilled')
    assert.equal(upstream.state, 'ready')
  })

  for (const [what, status, code, text] of [
    ['a server error', 503, 'GW_UPSTREAM_DOWN', /HTTP 503: down/],
    ['a client error', 418, 'GW_UPSTREAM_PROTOCOL', /HTTP 418: down/],
    ['a redirect', 307, 'GW_UPSTREAM_PROTOCOL', /redirects/],
    ['a refusal of credentials', 401, 'GW_UPSTREAM_AUTH', /HTTP 401/],
    ['nothing', 200, 'GW_UPSTREAM_PROTOCOL', /HTTP 200 without an answer/],
  ] as const) {
    it(`that is ${what} becomes ${code}`, async t => {
      const server = await peer(
        t,
        modern((_heard, response) => void response.writeHead(status, { location: 'http://127.0.0.1:1/', 'content-type': 'text/plain' }).end(status === 200 ? '' : 'down')),
      )
      const { upstream } = await bench(t, httpSpec(server.url))

      await assert.rejects(upstream.dispatch(toolCall('a')), { code, message: text })

      assert.equal(upstream.state, 'ready')
    })
  }

  it('with an error status and a JSON-RPC error is that error', async t => {
    const server = await peer(t, modern((heard, response) => refusal(response, 400, heard, -32021, 'Missing required client capability')))
    const { upstream } = await bench(t, httpSpec(server.url))

    const answer = await upstream.dispatch(toolCall('a'))

    assert.equal('error' in answer && answer.error.code, -32021)
  })

  it('of an unknown result type is an error, and a wish for input is none', async t => {
    const server = await peer(t, modern((heard, response) => result(response, heard, { resultType: String(heard.message.params?.name) })))
    const { upstream } = await bench(t, httpSpec(server.url))

    assert.match(JSON.stringify(await upstream.dispatch(toolCall('task'))), /-32603.*unsupported result type/)
    assert.ok('input' in (await upstream.dispatch(toolCall('input_required'))))
  })

  it('under another id is not taken for the answer', async t => {
    const server = await peer(
      t,
      modern((heard, response) => {
        stream(response).write(event({ id: String(heard.message.id), result: said('forged') }))
        response.write(event({ id: 12345, result: said('forged') }))
        response.end(event({ id: heard.message.id ?? 0, result: said('honest') }))
      }),
    )
    const { upstream } = await bench(t, httpSpec(server.url))

    assert.equal(textOf(await upstream.dispatch(toolCall('a'))), 'honest')
  })

  it('that breaks off fails its call, which is not sent again', async t => {
    const server = await peer(t, modern((_heard, response) => void response.destroy()))
    const { upstream } = await bench(t, httpSpec(server.url))

    await assert.rejects(upstream.dispatch(toolCall('a')), { code: 'GW_UPSTREAM_CLOSED' })

    assert.equal(server.of('tools/call').length, 1)
  })

  it('of a legacy server that breaks off is taken up where it ended', async t => {
    const server = await peer(
      t,
      legacy((heard, response) => {
        if (heard.verb === 'GET') return void stream(response).end(event({ id: first.id, result: said(`after ${String(heard.headers['last-event-id'])}`) }))
        first.id = Number(heard.message.id)
        stream(response).end('id: e1\nretry: 10\ndata: \n\n')
      }),
    )
    const first = { id: 0 }
    const { upstream } = await bench(t, httpSpec(server.url))

    assert.equal(textOf(await upstream.dispatch(toolCall('a'))), 'after e1')
  })

  function pour(response: ServerResponse): void {
    if (response.destroyed) return
    response.write('x'.repeat(16_384))
    setImmediate(() => pour(response))
  }
})

describe('cancelling a call over HTTP', () => {
  it('ends the stream of a modern server and says no more', async t => {
    let isCut = false
    const server = await peer(
      t,
      modern((_heard, response) => {
        stream(response).write(':\n')
        response.on('close', () => (isCut = true))
      }),
    )
    const { upstream } = await bench(t, httpSpec(server.url))
    const call = toolCall('a')
    const answer = upstream.dispatch(call)
    await until(() => server.of('tools/call').length === 1, 'the call is there')

    call.cancel('enough')

    assert.match(JSON.stringify(await answer), /was cancelled/)
    await until(() => isCut, 'its stream ends')
    assert.equal(server.of('notifications/cancelled').length, 0)
  })

  it('is told to a legacy server', async t => {
    const server = await peer(t, legacy(() => undefined))
    const { upstream } = await bench(t, httpSpec(server.url))
    const call = toolCall('a')
    const answer = upstream.dispatch(call)
    await until(() => server.of('tools/call').length === 1, 'the call is there')

    call.cancel('enough')

    assert.match(JSON.stringify(await answer), /was cancelled/)
    await until(() => server.of('notifications/cancelled').length === 1, 'it hears of it')
    const id = server.of('tools/call')[0]?.message.id
    assert.deepEqual(server.of('notifications/cancelled')[0]?.message.params, { requestId: id, reason: 'enough' })
  })
})

describe('a server that cannot be had', () => {
  it('because it refuses our credentials is not taken for a legacy one', async t => {
    const server = await peer(t, (_heard, response) => json(response, 401, {}))
    const { upstream } = await bench(t, httpSpec(server.url))

    await assert.rejects(upstream.dispatch(toolCall('a')), { code: 'GW_UPSTREAM_AUTH' })

    assert.equal(server.of('initialize').length, 0)
  })

  it('because it is down is not taken for a legacy one, and comes back by itself', async t => {
    const state = { isDown: true }
    const fine = modern((heard, response) => result(response, heard, said('ok')))
    const server = await peer(t, (heard, response) => (state.isDown ? json(response, 503, {}) : fine(heard, response)))
    const { upstream } = await bench(t, httpSpec(server.url))
    await upstream.start()
    assert.equal(upstream.state, 'failed')
    assert.equal(server.of('initialize').length, 0)

    state.isDown = false

    await until(() => upstream.state === 'ready', 'it comes back')
    assert.equal(upstream.server?.era, 'modern')
  })

  it('because nobody listens fails its calls at once, and is found again', async t => {
    const server = await peer(t, modern((heard, response) => result(response, heard, said('ok'))))
    const { upstream } = await bench(t, httpSpec(server.url))
    await upstream.start()
    await server.close()

    await assert.rejects(upstream.dispatch(toolCall('a')), /CONNREFUSED|SOCKET|CONNRESET/)
    await assert.rejects(upstream.dispatch(toolCall('a')), /cannot be reached|CONNREFUSED/)
    assert.equal(upstream.state, 'failed')
    await server.listen()

    await until(() => upstream.state === 'ready', 'it is found again')
    assert.equal(textOf(await upstream.dispatch(toolCall('a'))), 'ok')
  })

  it('because its URL redirects elsewhere is not followed there', async t => {
    const elsewhere = await peer(t, modern(() => undefined))
    const server = await peer(t, (_heard, response) => void response.writeHead(308, { location: elsewhere.url }).end())
    const { upstream } = await bench(t, httpSpec(server.url))

    await upstream.start()

    assert.match(upstream.problem ?? '', /redirects/)
    assert.equal(elsewhere.heard.length, 0)
  })
})

describe('a session that the server has forgotten', () => {
  for (const [status, code] of [[404, -32001], [400, -32000]] as const) {
    it(`(HTTP ${status}) is made anew, once, and a list is asked for again`, async t => {
      const sessions = new Set<string>()
      const handle = legacy((heard, response) => result(response, heard, { tools: [] }), sessions)
      const server = await peer(t, (heard, response) => {
        const session = heard.headers['mcp-session-id']
        if (session !== undefined && !sessions.has(String(session))) refusal(response, status, heard, code, 'Bad Request: No valid session ID provided')
        else handle(heard, response)
      })
      const { upstream } = await bench(t, httpSpec(server.url))
      await upstream.dispatch(callOf('tools/list'))
      sessions.clear()

      const answers = await Promise.all([callOf('tools/list'), callOf('prompts/list')].map(call => upstream.dispatch(call)))

      assert.ok(answers.every(answer => 'result' in answer))
      assert.equal(server.of('initialize').length, 2)
    })
  }

  it('fails a tool call with the reason, and the next one works', async t => {
    const sessions = new Set<string>()
    const server = await peer(t, legacy((heard, response) => result(response, heard, said('ok')), sessions))
    const { upstream } = await bench(t, httpSpec(server.url))
    await upstream.start()
    sessions.clear()

    await assert.rejects(upstream.dispatch(toolCall('a')), { code: 'GW_UPSTREAM_CLOSED', message: /forgotten our session/ })

    assert.equal(textOf(await upstream.dispatch(toolCall('a'))), 'ok')
    assert.equal(server.of('tools/call').length, 2)
  })
})
