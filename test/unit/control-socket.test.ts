import assert from 'node:assert/strict'
import { chmod, chown, lstat, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { connectControl } from '../../src/control/client.ts'
import { livingSockets, ownSocket } from '../../src/control/place.ts'
import { openControl, type Control, type ControlHost } from '../../src/control/server.ts'
import { gatewayError } from '../../src/errors.ts'
import { createLog } from '../../src/util/log.ts'

const skip = process.platform === 'win32' ? 'sockets have no modes there' : false
const ABOUT = { protocol: 1, name: 'tapgate', version: '0', pid: process.pid }
const HELLO = '{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":1}}\n'

async function directory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'control-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

function host(more: Partial<ControlHost> = {}): ControlHost {
  return {
    about: ABOUT,
    log: createLog({ level: 'error', format: 'json', write: () => undefined }),
    control: async (verb, params) => ({ verb, params }),
    ...more,
  }
}

async function opened(t: TestContext, socket: string, more: Partial<ControlHost> = {}): Promise<Control> {
  const control = await openControl(socket, host(more), true)
  t.after(() => control.close())
  return control
}

/** A peer that may say anything. */
function raw(
  t: TestContext,
  socket: string,
): { to: Socket; lines: AsyncIterator<string>; closed: Promise<void> } {
  const to = connect(socket)
  to.on('error', () => undefined)
  t.after(() => to.destroy())
  const closed = new Promise<void>(resolve => to.once('close', () => resolve()))
  return { to, lines: createInterface({ input: to })[Symbol.asyncIterator](), closed }
}

async function next(
  lines: AsyncIterator<string>,
): Promise<{ result?: unknown; error?: { message: string } }> {
  return JSON.parse(String((await lines.next()).value)) as { result?: unknown; error?: { message: string } }
}

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
  t.after(() => client.close())

  assert.deepEqual(await client.request('ps'), { said: 'ps' })
  assert.equal(client.about.pid, process.pid)
  await assert.rejects(client.request('fail'), {
    code: 'GW_UPSTREAM_UNKNOWN',
    message: 'there is no upstream "x"',
  })
  await assert.rejects(client.request('bug'), { code: 'GW_INTERNAL', message: 'internal error' })
})

test('news of a request that lasts come to it alone, until its signal aborts', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  await opened(t, socket, {
    control: (verb, _params, { onNotification, signal }) =>
      new Promise(resolve => {
        onNotification?.({ method: 'log', params: { line: verb } })
        signal?.addEventListener('abort', () => resolve({ ended: verb }))
      }),
  })
  const client = await connectControl(socket)
  t.after(() => client.close())
  const stop = new AbortController()
  const heard: unknown[] = []

  const lasting = client.request(
    'one',
    {},
    {
      signal: stop.signal,
      onNotification: ({ params }) => {
        heard.push(params)
        stop.abort()
      },
    },
  )

  assert.deepEqual(await lasting, { ended: 'one' })
  assert.deepEqual(heard, [{ line: 'one' }])
})

test('the end of the gateway ends requests that last, with their answers', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  const control = await opened(t, socket, {
    control: (_verb, _params, { signal }) =>
      new Promise(resolve => signal?.addEventListener('abort', () => resolve({ ended: true }))),
  })
  const client = await connectControl(socket)
  const lasting = client.request('follow')
  const another = client.request('hello', { protocol: 1 })
  await another

  await control.close()

  assert.deepEqual(await lasting, { ended: true })
  await assert.rejects(client.request('ps'), { code: 'GW_CONTROL' })
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
      ['file.sock', /something else/],
      ['open/a.sock', /others can/],
      ['way/a.sock', /no directory/],
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
  const client = await connectControl(socket)
  client.close()
})

test('gateways with one configuration have a socket each, and dead ones are not found', { skip }, async t => {
  const at = await directory(t)
  const place = { file: join(at, 'gateway.yaml'), env: undefined, environment: { XDG_RUNTIME_DIR: at } }
  const [one, two, dead] = [1, 2, 3].map(pid => ownSocket(place, pid)) as [string, string, string]
  await opened(t, one)
  await leaveStale(dead)
  await opened(t, two)

  assert.deepEqual((await livingSockets(place)).sort(), [one, two])
  assert.deepEqual(await livingSockets({ ...place, env: 'production' }), [])
  await assert.rejects(lstat(dead), { code: 'ENOENT' })
  assert.ok(Buffer.byteLength(one) < 100)
})

test('a directory that is too long is not used', { skip }, () => {
  const place = { file: '/a', env: undefined, environment: { XDG_RUNTIME_DIR: `/${'long'.repeat(25)}` } }
  assert.ok(Buffer.byteLength(ownSocket(place, 1)) < 100)
})

test(
  'garbage, another version, an oversized line and a request before hello end the conversation, and no other',
  { skip },
  async t => {
    const socket = join(await directory(t), 'a.sock')
    await opened(t, socket)
    const client = await connectControl(socket)
    t.after(() => client.close())
    const wrong = [
      'GET / HTTP/1.1\r\n',
      '\u0000\u0001\u0002\n',
      '{"jsonrpc":"2.0","id":1,"method":"ps"}\n',
      '{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":99}}\n',
      `${HELLO}${'x'.repeat(100_000)}`,
    ]

    for (const text of wrong) {
      const peer = raw(t, socket)
      peer.to.write(text)
      let said = await next(peer.lines)
      if (text.startsWith(HELLO)) said = await next(peer.lines)
      assert.ok(said.error, text.slice(0, 20))
      peer.to.end()
      await peer.closed
    }
    assert.deepEqual(await client.request('ps'), { verb: 'ps', params: {} })
  },
)

test('who connects and says nothing is sent away', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  await opened(t, socket, { helloMs: 50 })
  const peer = raw(t, socket)
  peer.to.resume()
  const alive = setInterval(() => undefined, 1000)

  await peer.closed
  clearInterval(alive)

  const client = await connectControl(socket)
  assert.deepEqual(await client.request('ps'), { verb: 'ps', params: {} })
  client.close()
})

test('of a hundred connections those within the bound are served, and room comes back', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  await opened(t, socket)

  const settled = await Promise.allSettled(Array.from({ length: 100 }, () => connectControl(socket)))
  const clients = settled.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
  assert.equal(clients.length, 64)
  const answers = await Promise.all(clients.map(client => client.request('ps')))
  assert.equal(answers.length, 64)

  for (const client of clients) client.close()
  for (;;) {
    const again = await connectControl(socket).catch(() => undefined)
    again?.close()
    if (again !== undefined) break
  }
})

test('a slow reader misses news and is told how many', { skip }, async t => {
  const socket = join(await directory(t), 'a.sock')
  const text = 'x'.repeat(1000)
  const release: { tell?: () => void } = {}
  await opened(t, socket, {
    control: (_verb, _params, { onNotification }) => {
      for (let i = 0; i < 5000; i++) onNotification?.({ method: 'log', params: { text } })
      return new Promise(resolve => {
        release.tell = () => {
          onNotification?.({ method: 'log', params: { text: 'last' } })
          resolve({})
        }
      })
    },
  })
  const peer = raw(t, socket)
  peer.to.write(`${HELLO}{"jsonrpc":"2.0","id":2,"method":"follow"}\n`)
  let heard = 0
  let missed = 0
  for (;;) {
    const line = JSON.parse(String((await peer.lines.next()).value)) as {
      id?: number
      params?: { text: string; missed?: number }
    }
    if (line.params !== undefined) heard++
    missed += line.params?.missed ?? 0
    if (heard > 500 && peer.to.readableLength === 0) release.tell?.()
    if (line.id === 2) break
  }
  assert.ok(missed > 0 && heard + missed === 5001, `${heard} heard, ${missed} missed`)
})

/** Leaves what a gateway leaves that was killed. */
async function leaveStale(socket: string): Promise<void> {
  const { spawn } = await import('node:child_process')
  const program = `require('net').createServer().listen(${JSON.stringify(socket)}, () => process.kill(process.pid, 'SIGKILL'))`
  await mkdir(join(socket, '..'), { recursive: true, mode: 0o700 })
  const child = spawn(process.execPath, ['-e', program])
  await new Promise(resolve => child.once('exit', resolve))
}
