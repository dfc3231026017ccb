import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { cleanup } from '../../../fixtures/cleanup.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import { gateway } from '../../cli/run.ts'
import { askOnce, enter, tokenIn } from './requests.ts'
import { isOff, ofBoth, opened } from './setting.ts'
import { skipOne, until } from '../setting.ts'

describe('access to the page of several workers', { skip: isOff }, () => {
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
})

describe('logins to the page of several workers', { skip: isOff }, () => {
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
