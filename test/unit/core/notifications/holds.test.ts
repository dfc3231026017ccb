import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Notifier } from '../../../../src/core/notifications/notifier.ts'
import type { Exchange, Principal, Session } from '../../../../src/api/index.ts'
import { ANONYMOUS } from '../../../../src/plugin.ts'

const OWNER = { upstream: 'files', original: '', exposed: '' }
const NOTHING = { methods: new Set(['x']), uris: new Set<string>(), taskIds: [] }

function laneOf(): Notifier {
  return new Notifier({ upstreams: new Map(), clock: { after: () => () => undefined } } as never)
}

function sessionOf(id: string, principal: Principal): Session {
  return { id, principal, slots: [] } as unknown as Session
}

const someone = (subject: string): Principal => ({ issuer: 'test', client: 'c', subject, scopes: [] })

/** Holds URIs until there is no more room; says how many. */
function holdAll(notifier: Notifier, session: Session, prefix: string): number {
  for (let count = 0; count < 20_000; count++)
    if (notifier.addHolder(`${prefix}:${count}`, OWNER, session) === 'full') return count
  throw new Error('there is no bound')
}

test('one caller has a share of the resource holds, over all sessions of its own', () => {
  const notifier = laneOf()
  const [ann, again, bob] = [
    sessionOf('1', someone('ann')),
    sessionOf('2', someone('ann')),
    sessionOf('3', someone('bob')),
  ]

  assert.equal(holdAll(notifier, ann, 'file'), 1024)
  assert.equal(notifier.addHolder('mine:1', OWNER, again), 'full')
  assert.equal(notifier.addHolder('theirs:1', OWNER, bob), 'new')
})

test('those whom nobody asked who they are have a share for each session, and what ends makes room', () => {
  const notifier = laneOf()
  const [first, second] = [sessionOf('1', ANONYMOUS), sessionOf('2', ANONYMOUS)]

  assert.equal(holdAll(notifier, first, 'file'), 1024)
  assert.equal(notifier.addHolder('file:1', OWNER, second), 'new')
  notifier.removeHolder('file:7', first)
  assert.equal(notifier.addHolder('other:1', OWNER, first), 'new')
  assert.equal(notifier.addHolder('other:2', OWNER, first), 'full')
})

test('one caller cannot open all listens', () => {
  const notifier = laneOf()
  const listening = (subject: string): boolean => {
    const exchange = {
      session: sessionOf('1', someone(subject)),
      emit: () => undefined,
      onCancel: () => undefined,
    }
    return notifier.listen(exchange as unknown as Exchange, NOTHING) !== undefined
  }

  let count = 0
  while (count < 2000 && listening('ann')) count++

  assert.equal(count, 128)
  assert.equal(listening('bob'), true)
  notifier.endListens()
  assert.equal(listening('ann'), true)
})
