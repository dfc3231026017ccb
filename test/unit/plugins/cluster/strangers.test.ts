import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { skip } from '../../../fixtures/redis.ts'
import { echo, open, replicas, statusOf, until } from './setting.ts'

const MANY = 700
const MOST = 512

test('connections without a proof are bounded, and keep no replica from handing on', { skip }, async t => {
  const { urls, gateways } = await replicas(t, 2)
  const [first = '', second = ''] = urls
  const { replicas: all = [], self } = await statusOf(gateways[0] as never)
  const own = (all as { id: string; address: string }[]).find(({ id }) => id === self)
  const [host = '', port] = own?.address.split(':') ?? []
  const session = await open(first)
  assert.match(await echo(second, session, 'before'), /^200/)

  const held = new Set<Socket>()
  let made = 0
  cleanup(t, () => {
    for (const socket of held) socket.destroy()
  })
  for (let number = 0; number < MANY; number++) {
    const socket = connect(Number(port), host)
    socket.on('connect', () => {
      made++
      held.add(socket.resume())
    })
    socket.on('error', () => undefined)
    socket.on('close', () => held.delete(socket))
  }

  await until(() => made === MANY && held.size <= MOST)
  assert.ok(held.size >= MOST - 10, 'only the oldest gave way')
  assert.match(await echo(second, session, 'meanwhile'), /^200/)
})
