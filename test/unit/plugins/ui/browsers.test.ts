import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browsers, LINK_MS, type Login } from '../../../../plugins/ui/access/browsers.ts'
import { ANONYMOUS, SharedMemory } from '../../../../src/plugin.ts'

const HOUR_MS = 3_600_000

interface Two {
  readonly one: Browsers
  readonly other: Browsers
  pass(ms: number): void
}

/** Two processes of one gateway. */
async function two(): Promise<Two> {
  let now = 0
  const memory = new SharedMemory({ now: () => now })
  const [one, other] = [new Browsers(memory.of({})), new Browsers(memory.of({}))]
  await Promise.all([one.begin(), other.begin()])
  return { one, other, pass: ms => void (now += ms) }
}

/** A request as the browser sends it. */
function requestOf(
  browsers: Browsers,
  { cookie, key }: Login,
  listener = 'main',
): Parameters<Browsers['find']>[0] {
  const [pair = ''] = browsers.cookieFor({ cookie }, HOUR_MS, false).split(';', 1)
  const headers: Readonly<Record<string, string>> = { cookie: pair, 'x-tapgate-ui': key }
  return { listener, header: name => [headers[name]].filter(one => one !== undefined) }
}

async function loggedIn(browsers: Browsers): Promise<Login> {
  const login = await browsers.openByLink(await browsers.link(), 'main', HOUR_MS)
  assert.ok(login !== undefined)
  return login
}

test('who has logged in at one process is known at another, until he logs out at either', async () => {
  const { one, other, pass } = await two()
  const login = await loggedIn(one)
  const request = requestOf(one, login)
  const found = await other.find(request)
  assert.ok(found !== undefined)
  assert.equal(await other.isOpen(found), true)
  await other.close(found)
  assert.equal(await one.find(request), undefined)
  assert.equal(await one.isOpen(found), false)

  const late = requestOf(one, await loggedIn(one))
  pass(HOUR_MS)
  assert.equal(await other.find(late), undefined)
})

test('a link that one process gave opens one browser, at whichever it is shown first, within its time', async () => {
  const { one, other, pass } = await two()
  const token = await one.link()
  const all = await Promise.all([one, other, one].map(each => each.openByLink(token, 'main', HOUR_MS)))
  assert.equal(all.filter(login => login !== undefined).length, 1)
  const late = await one.link()
  pass(LINK_MS)
  assert.equal(await other.openByLink(late, 'main', HOUR_MS), undefined)
})

test('of a caller who logs in without end the oldest browsers go, and nobody else loses one', async () => {
  const { one, other } = await two()
  const owner = await loggedIn(one)
  const logins: Login[] = []
  const caller = { principal: { ...ANONYMOUS, subject: 'ada' }, credential: 'Bearer x', listener: 'main' }
  for (let count = 0; count < 25; count++)
    logins.push(await (count % 2 === 0 ? one : other).openFor(caller, HOUR_MS, 'ada'))
  const found = await Promise.all(logins.map(login => one.find(requestOf(one, login))))
  assert.deepEqual(
    found.map(browser => browser !== undefined),
    Array.from({ length: 25 }, (_, count) => count >= 5),
  )
  assert.notEqual(await other.find(requestOf(one, owner)), undefined)
  // A caller is known where it has shown its credential, an owner everywhere.
  const [last] = logins.slice(-1)
  assert.ok(last !== undefined)
  assert.equal(await other.find(requestOf(one, last, 'public')), undefined)
  assert.notEqual(await other.find(requestOf(one, owner, 'public')), undefined)
})

test('many who log in at once lose no place in the list', async () => {
  const { one, other } = await two()
  const caller = { principal: { ...ANONYMOUS, subject: 'ada' }, credential: 'Bearer x', listener: 'main' }
  const all = await Promise.all(
    Array.from({ length: 12 }, (_, count) =>
      (count % 2 === 0 ? one : other).openFor(caller, HOUR_MS, `caller ${count}`),
    ),
  )
  for (const login of all) assert.notEqual(await other.find(requestOf(one, login)), undefined)
})
