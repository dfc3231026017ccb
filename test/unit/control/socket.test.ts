import assert from 'node:assert/strict'
import { chmod, chown, lstat, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectControl } from '../../../src/control/client.ts'
import { findLivingSockets, getControlSocketPath } from '../../../src/control/sockets.ts'
import { openControl } from '../../../src/control/server.ts'
import { gatewayError } from '../../../src/errors/errors.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { ask, directory, host, leaveStale, opened, skip } from './bench.ts'

test(
  'only its user can connect: the socket has mode 0600, its directory 0700, and both are gone or empty after',
  { skip },
  async t => {
    const socket = join(await directory(t), 'new', 'a.sock')
    const control = await opened(t, socket)

    const modes = [(await lstat(socket)).mode & 0o777, (await lstat(join(socket, '..'))).mode & 0o777]
    await control.close()

    assert.deepEqual(modes, [0o600, 0o700])
    await assert.rejects(lstat(socket), { code: 'ENOENT' })
  },
)

test('a request is answered, and an error comes out as it went in', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  await opened(t, socket, {
    control: async verb => {
      if (verb === 'fail') throw gatewayError('GW_UPSTREAM_UNKNOWN', { upstream: 'x', meant: '' })
      if (verb === 'bug') throw new TypeError('a secret of ours')
      return { said: verb }
    },
  })
  const client = await connectControl(socket)

  assert.deepEqual(await client.request('ps'), { said: 'ps' })
  assert.equal(client.about.pid, process.pid)
  await assert.rejects(client.request('fail'), {
    code: 'GW_UPSTREAM_UNKNOWN',
    message: 'no upstream "x"',
  })
  assert.equal((await ask(socket, 'POST', '/v1/fail')).status, 404)
  await assert.rejects(client.request('bug'), { code: 'GW_INTERNAL', message: 'internal error' })
})

test('a stream comes to its request alone, and ends when the request is given up', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  const ended: string[] = []
  let end = (): void => undefined
  const wasEnded = new Promise<void>(resolve => (end = resolve))
  await opened(t, socket, {
    control: (verb, { upstream }, { onNotification, signal }) =>
      new Promise(resolve => {
        onNotification?.({ method: 'log', params: { line: upstream } })
        signal?.addEventListener('abort', () => {
          ended.push(verb)
          end()
          resolve({})
        })
      }),
  })
  const client = await connectControl(socket)
  const stop = new AbortController()
  const received: unknown[] = []

  const lasting = client.request(
    'upstream.logs',
    { upstream: 'a/b', follow: true },
    {
      signal: stop.signal,
      onNotification: ({ params }) => {
        received.push(params)
        stop.abort()
      },
    },
  )

  await assert.rejects(lasting, { name: 'AbortError' })
  await wasEnded
  assert.deepEqual(received, [{ line: 'a/b' }])
  assert.deepEqual(ended, ['upstream.logs'])
})

test('the end of the gateway ends requests that last, with their answers', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  let begun = (): void => undefined
  const hasBegun = new Promise<void>(resolve => (begun = resolve))
  const control = await opened(t, socket, {
    control: (_verb, _params, { signal }) =>
      new Promise(resolve => {
        begun()
        signal?.addEventListener('abort', () => resolve({ ended: true }))
      }),
  })
  const client = await connectControl(socket)
  const lasting = client.request('some.thing')
  await hasBegun

  await control.close()

  assert.deepEqual(await lasting, { ended: true })
  await assert.rejects(client.request('ps'), { code: 'GW_CONTROL' })
})

test('any HTTP client can ask', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  await opened(t, socket)
  const asked = [
    ['about', '', undefined],
    ['ps', '', {}],
    ['upstream.logs', '{"upstream":"web","lines":5}', { upstream: 'web', lines: 5 }],
  ] as const
  for (const [verb, body, params] of asked) {
    const { status, headers, text } = await ask(socket, 'POST', `/v1/${verb}`, { body })
    assert.deepEqual([status, headers['content-type']], [200, 'application/json'], verb)
    const answer = JSON.parse(text) as JsonObject
    if (params === undefined) assert.equal(answer.pid, process.pid)
    else assert.deepEqual(answer, { verb, params })
  }
})

test(
  'a symbolic link, another kind of file and a directory that others can write to are refused',
  { skip },
  async t => {
    const at = await directory(t)
    await opened(t, join(at, 'real.sock'))
    await symlink(join(at, 'real.sock'), join(at, 'link.sock'))
    await writeFile(join(at, 'file.sock'), 'kept')
    const open = join(at, 'open')
    await mkdir(open)
    await chmod(open, 0o777)
    await symlink(at, join(at, 'way'))

    for (const [path, why] of [
      ['link.sock', /symbolic link/],
      ['file.sock', /is not a socket/],
      ['open/a.sock', /other users can/],
      ['way/a.sock', /is not a directory/],
    ] as const) {
      await assert.rejects(openControl(join(at, path), host(), true), { code: 'GW_CONTROL', message: why })
      await assert.rejects(connectControl(join(at, path)), { code: 'GW_CONTROL' })
    }
    assert.equal((await lstat(join(at, 'file.sock'))).size, 4)
  },
)

const notRoot = process.getuid?.() === 0 ? false : 'only root can give files away'

test('what belongs to another user is refused', { skip: skip || notRoot }, async t => {
  const at = await directory(t)
  const control = await opened(t, join(at, 'a.sock'))
  await chown(join(at, 'a.sock'), 4711, 4711)
  const theirs = join(at, 'theirs')
  await mkdir(theirs, { mode: 0o700 })
  await chown(theirs, 4711, 4711)

  await assert.rejects(connectControl(control.socket), { message: /belongs to another user/ })
  await assert.rejects(openControl(control.socket, host(), true), { message: /belongs to another user/ })
  await assert.rejects(openControl(join(theirs, 'a.sock'), host(), true), {
    message: /belongs to another user/,
  })
})

test('the socket of a dead gateway is replaced, that of a living one is not', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  await leaveStale(socket)
  assert.ok((await lstat(socket)).isSocket())

  await opened(t, socket)

  await assert.rejects(openControl(socket, host(), true), { message: /another gateway listens on it/ })
  await connectControl(socket)
})

test('gateways with one configuration have a socket each, and dead ones are not found', { skip }, async t => {
  const at = await directory(t)
  const place = { file: join(at, 'gateway.yaml'), env: undefined, environment: { XDG_RUNTIME_DIR: at } }
  const [one, two, dead] = [1, 2, 3].map(pid => getControlSocketPath(place, pid)) as [string, string, string]
  await opened(t, one)
  await leaveStale(dead)
  await opened(t, two)

  assert.deepEqual((await findLivingSockets(place)).sort(), [one, two])
  assert.deepEqual(await findLivingSockets({ ...place, env: 'production' }), [])
  await assert.rejects(lstat(dead), { code: 'ENOENT' })
  assert.ok(Buffer.byteLength(one) < 100)
})

test('a directory that is too long, or is none of ours, is not used', { skip }, async t => {
  const long = join(await directory(t), 'long'.repeat(25))
  await mkdir(long)
  for (const runtime of [long, '/nowhere', 'here']) {
    const socket = getControlSocketPath({ file: '/a', env: undefined, environment: { XDG_RUNTIME_DIR: runtime } }, 1)
    assert.ok(Buffer.byteLength(socket) < 100 && !socket.startsWith(runtime), socket)
  }
})
