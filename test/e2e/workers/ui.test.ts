import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { describe, test, type TestContext } from 'node:test'
import { closeAfter, testClient, testUpstream, type TestUpstream } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import type { JsonObject } from '../../../src/plugin.ts'
import { gateway } from '../cli/run.ts'
import { askOnce, enter, type Heard, tokenIn, type Wanderer } from './page-requests.ts'
import { everything, type Running, skipOne, twoWorkers, until } from './setting.ts'

const isOff = process.platform === 'win32'
/** Connections go to the workers in turn, so that of so many each gets some. */
const BOTH = 4

interface Opened extends Running {
  readonly web: TestUpstream
  link(): Promise<string>
  enter(): Promise<Wanderer>
  /** Has each worker serve so many calls. */
  call(each: number): Promise<void>
}

async function opened(t: TestContext, config: JsonObject = {}): Promise<Opened> {
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } }
  const who = { method: 'elicitation/create', params: { mode: 'form', message: 'Who?', requestedSchema } }
  const tools = {
    echo: (args: JsonObject) => String(args.text),
    ask: (_args: JsonObject, { params: { inputResponses } }: { params: JsonObject }) =>
      inputResponses === undefined
        ? { resultType: 'input_required', inputRequests: { who } }
        : JSON.stringify(inputResponses),
  }
  const web = closeAfter(t, await testUpstream({ tools, era: 'modern' }))
  const upstreams = { all: everything(), web: { type: 'http', url: web.url } }
  const running = await twoWorkers(t, { upstreams, ui: { values: '*' }, ...config })
  const link = async (): Promise<string> => {
    const { code, stdout, stderr } = await gateway(['ui', '--no-open'], { cwd: running.cwd })
    assert.equal(code, 0, stderr)
    return stdout.trim()
  }
  return {
    ...running,
    web,
    link,
    enter: async () => enter(await link()),
    async call(each) {
      for (let turn = 0; turn < each * 2; turn++) {
        const client = await testClient(running.url)
        await client.request('tools/call', { name: 'web__echo', arguments: { text: `call ${turn}` } })
        await client.close()
      }
    },
  }
}

/** Asks both workers the same. */
async function ofBoth<T>(ask: () => Promise<T>): Promise<T[]> {
  const answers: T[] = []
  for (let turn = 0; turn < BOTH; turn++) answers.push(await ask())
  return answers
}

function countIn({ events }: Heard): number {
  return events.reduce((sum, { type, count }) => sum + (type === 'call' ? Number(count) : 0), 0)
}

describe('the page of several workers', { skip: isOff }, () => {
  test('is served by each, to whoever has logged in at one, and shows the calls and clients of all', async t => {
    const made = await opened(t, { listeners: { main: { type: 'http', port: 0, limits: { sessions: 90 } } } })
    const { json } = await made.enter()
    await made.call(3)
    await until(async () => Number((await json('calls')).newest) === 6)

    for (const { calls, kept, newest } of await ofBoth(() => json('calls?tool=web'))) {
      assert.deepEqual([kept, newest], [6, 6])
      assert.deepEqual(
        (calls as JsonObject[]).map(({ id, name }) => [id, name]),
        [6, 5, 4, 3, 2, 1].map(id => [id, 'web__echo']),
      )
    }
    const texts = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(async id => (await json(`call?id=${id}`)).arguments),
    )
    assert.deepEqual(
      texts.map(text => (JSON.parse(String(text)) as JsonObject).text).sort(),
      [0, 1, 2, 3, 4, 5].map(turn => `call ${turn}`),
    )
    assert.equal((await made.enter().then(one => one.ask('call?id=7'))).status, 404)
    for (const { calls } of await ofBoth(() => json('calls?after=4&limit=1')))
      assert.equal((calls as JsonObject[])[0]?.id, 6)

    const [{ figures, workers, servers } = {}] = await ofBoth(() => json('overview'))
    assert.equal(
      (figures as JsonObject[]).reduce((sum, one) => sum + Number(one.calls), 0),
      6,
    )
    assert.deepEqual(
      (workers as JsonObject[]).map(({ worker, ready }) => [worker, ready]),
      [
        [1, true],
        [2, true],
      ],
    )
    assert.deepEqual((servers as JsonObject[]).map(({ name }) => name).sort(), ['all', 'web'])

    for (const { clients } of await ofBoth(() => json('clients'))) {
      const callers = (clients as JsonObject[]).filter(({ calls }) => Number(calls) > 0)
      assert.deepEqual(
        callers.map(({ calls, open }) => [calls, open]),
        [[6, 0]],
      )
    }
    const { values } = await json('config?search=limits/sessions&defaults=yes')
    const shown = (values as JsonObject[]).find(
      ({ pointer }) => pointer === '/listeners/main/limits/sessions',
    )
    assert.equal(shown?.value, 90)
    for (const { tools, total } of await ofBoth(() => json('tools?server=web'))) {
      assert.equal(total, 2)
      assert.equal(new Set((tools as JsonObject[]).map(({ name }) => name)).size, 2)
    }
  })

  test('tells of calls that another worker has served', async t => {
    const made = await opened(t)
    const { events } = await made.enter()
    const streams = [await events('events'), await events('events')]
    cleanup(t, () => streams.forEach(stream => stream.close()))
    await made.call(2)
    await until(() => streams.every(stream => countIn(stream) === 4))
    // Nothing is told twice.
    await made.call(1)
    await until(() => streams.every(stream => countIn(stream) >= 6))
    assert.deepEqual(streams.map(countIn), [6, 6])
  })

  test('goes on at the next worker when one is killed: nobody logs in anew, and no call is forgotten', async t => {
    const made = await opened(t)
    const { events, ask, json } = await made.enter()
    const streams = [await events('events'), await events('events')]
    cleanup(t, () => streams.forEach(stream => stream.close()))
    await made.call(2)
    await until(async () => Number((await json('calls')).newest) === 4)
    const [first] = (await made.ps()).workers
    process.kill(Number(first?.pid), 'SIGKILL')
    await until(() => streams.some(stream => stream.isOver()))
    assert.deepEqual(streams.map(stream => stream.isOver()).sort(), [false, true])
    await until(async () => (await made.ps()).workers.every(({ ready }) => ready))
    assert.deepEqual(
      (await ofBoth(() => ask('session'))).map(({ status }) => status),
      [200, 200, 200, 200],
    )
    for (const { newest } of await ofBoth(() => json('calls'))) assert.equal(newest, 4)
    await made.call(1)
    await until(async () => Number((await json('calls')).newest) === 6)
    const left = streams.find(stream => !stream.isOver())
    await until(() => left !== undefined && countIn(left) === 6)
    const { workers } = await json('overview')
    assert.deepEqual(
      (workers as JsonObject[]).map(({ restarts }) => restarts),
      [1, 0],
    )
  })

  test('passes what somebody answers to the worker whose server has asked', async t => {
    const made = await opened(t)
    const { events, json } = await made.enter()
    const handedOn = async (): Promise<number> => {
      const { stdout } = await gateway(['replicas', '--json'], { cwd: made.cwd })
      return Number((JSON.parse(stdout) as JsonObject).handedOn)
    }
    for (const isSame of [false, true]) {
      const before = await handedOn()
      const trial = await events('run', { name: 'web__ask' })
      cleanup(t, () => trial.close())
      await until(() => trial.events.length > 0)
      const id = trial.events[0]?.id
      if (isSame) await skipOne(made.url)
      const answer = { id, action: 'accept', content: { name: 'Ada' } }
      assert.deepEqual(await json('answer', answer), { taken: true })
      assert.equal((await handedOn()) - before, isSame ? 0 : 1)
      await until(() => trial.isOver())
      assert.match(JSON.stringify(trial.events.at(-1)), /Ada/)
      for (const again of await ofBoth(() => json('answer', answer)))
        assert.deepEqual(again, { taken: false })
    }
    for (const id of ['', 'x', 'r0123456789abcdef x', '../', 'a'.repeat(4000)])
      assert.deepEqual(await json('answer', { id, action: 'accept' }), { taken: false })
  })
})

describe('access to the page of several workers', { skip: isOff }, () => {
  test('opens for nobody at one worker who is not let in at another', async t => {
    const made = await opened(t)
    const link = await made.link()
    const session = new URL('api/session', link)
    const body = { token: tokenIn(link) }
    const { headers, ask } = await enter(link)
    const { cookie, 'x-tapgate-ui': key } = headers
    const [name = ''] = cookie.split('=')
    const origin = new URL(made.url).origin
    const of = (path: string, sent: Record<string, string>, posted?: JsonObject) => async () =>
      (await askOnce(new URL(path, link), { headers: sent, body: posted })).status

    // A used link, and tokens that somebody makes up.
    for (const token of [body.token, '', 'x', 'a'.repeat(43), null, 1, {}, ['x']])
      for (const { status } of await ofBoth(() => askOnce(session, { body: { token } })))
        assert.ok([400, 401].includes(status), JSON.stringify(token))
    const attacks: readonly (readonly [expected: number, attack: () => Promise<number>])[] = [
      ...[
        'session',
        'overview',
        'calls',
        'call?id=1',
        'tools',
        'clients',
        'config',
        'events',
        'cache',
        'tasks',
      ].map(path => [401, of(`api/${path}`, {})] as const),
      ...['server', 'refresh', 'run', 'answer', 'purge', 'reload', 'plan', 'logout', 'explain', 'cancel'].map(
        path => [401, of(`api/${path}`, {}, {})] as const,
      ),
      // A cookie without its key, a key without its cookie, and others that are made up.
      [401, of('api/calls', { cookie })],
      [401, of('api/calls', { 'x-tapgate-ui': key })],
      [401, of('api/calls', { ...headers, 'x-tapgate-ui': `${key}x` })],
      [401, of('api/calls', { ...headers, cookie: `${name}=${'a'.repeat(43)}` })],
      [401, of('api/calls', { ...headers, cookie: `${name}=` })],
      [401, of('api/calls', { ...headers, cookie: `${cookie}; ${name}=other` })],
      [401, of('api/calls', { ...headers, cookie: cookie.replace(name, 'tapgate-ui-00000000') })],
      // Pages of others.
      ...['http://127.0.0.1:1', 'http://localhost:1', 'null', 'https://evil.example'].map(
        from => [403, of('api/calls', { ...headers, origin: from })] as const,
      ),
      ...['same-site', 'cross-site', 'none'].map(
        site => [403, of('api/calls', { ...headers, 'sec-fetch-site': site })] as const,
      ),
      [403, of('api/reload', { ...headers, origin: 'https://evil.example' }, {})],
      [403, of('api/calls', { ...headers, host: `evil.example:${new URL(origin).port}` })],
      // A proof that one worker gives another, made up.
      [401, of('api/calls', { 'x-tapgate-handed': 'x' })],
      ...['../package.json', '..%2fpackage.json', 'constructor', 'page-files.gen.ts'].map(
        path => [404, of(`/ui/${path}`, headers)] as const,
      ),
    ]
    assert.ok(attacks.length >= 40, String(attacks.length))
    for (const [number, [expected, attack]] of attacks.entries())
      for (const status of await ofBoth(attack)) assert.equal(status, expected, `attack ${number}`)

    // Who is in is in at both, and out at both.
    assert.deepEqual(
      (await ofBoth(() => ask('calls'))).map(({ status }) => status),
      [200, 200, 200, 200],
    )
    assert.equal((await ask('logout', {})).status, 200)
    assert.deepEqual(
      (await ofBoth(() => ask('calls'))).map(({ status }) => status),
      [401, 401, 401, 401],
    )
  })

  test('is good for one of several that open one link at once', async t => {
    const made = await opened(t)
    const link = await made.link()
    const body = { token: tokenIn(link) }
    const all = await Promise.all(
      Array.from({ length: 8 }, () => askOnce(new URL('api/session', link), { body })),
    )
    assert.deepEqual(all.map(({ status }) => status).sort(), [200, ...Array<number>(7).fill(401)])
  })

  test('asks each caller for its scopes, wherever it comes', async t => {
    const hash = (key: string): string => `sha256:${createHash('sha256').update(key).digest('hex')}`
    const scopes = { looks: ['ui:read'], acts: ['ui:read', 'ui:act'], none: [] }
    const keys = Object.entries(scopes).map(([name, own]) => ({
      name,
      hash: hash(`${name}-key`),
      scopes: own,
    }))
    const made = await opened(t, { auth: { keys } })
    const page = new URL('/ui/', made.url).href
    const by = (key: string) => ({ body: {}, headers: { authorization: `Bearer ${key}` } })
    const looks = await enter(page, by('looks-key'))
    const acts = await enter(page, by('acts-key'))
    for (const { status } of await ofBoth(() => looks.ask('calls'))) assert.equal(status, 200)
    for (const { status } of await ofBoth(() => looks.ask('purge', { all: true }))) assert.equal(status, 403)
    for (const { status } of await ofBoth(() => acts.ask('purge', { all: true }))) assert.equal(status, 200)
    await assert.rejects(enter(page, by('none-key')), /403/)
    // The cookie of one and the key of another are nobody's.
    const mixed = { cookie: looks.headers.cookie, 'x-tapgate-ui': acts.headers['x-tapgate-ui'] }
    for (const { status } of await ofBoth(() => askOnce(new URL('api/calls', page), { headers: mixed })))
      assert.equal(status, 401)
    const owner = await made.enter()
    for (const { isOwner } of await ofBoth(() => owner.json('session'))) assert.equal(isOwner, true)
  })

  test('is not there without "ui", and comes with a reload', async t => {
    const made = await opened(t, { ui: undefined })
    for (const { status } of await ofBoth(() => askOnce(new URL('/ui/', made.url)))) assert.equal(status, 404)
    const file = `${made.cwd}/gateway.yaml`
    const config = JSON.parse(await readFile(file, 'utf8')) as JsonObject
    await writeFile(file, JSON.stringify({ ...config, ui: {} }))
    assert.equal((await gateway(['reload'], { cwd: made.cwd })).code, 0)
    const { json } = await made.enter()
    await made.call(1)
    await until(async () => Number((await json('calls')).newest) === 2)
  })
})
