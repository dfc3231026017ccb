import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { AskReply } from '../../../../src/api/index.ts'
import { result, type Seen } from '../http/fake-gate.ts'
import { INITIALIZE, type Message } from '../http/client.ts'
import { pipe, type PipeClient } from './client.ts'

// The clock's timers keep no process alive, and on these streams nothing else does.
const alive = setInterval(() => undefined, 1000)
after(() => clearInterval(alive))

const CALL = { id: 1, method: 'slow/call' }
const errorOf = (reply: AskReply): string => ('error' in reply ? reply.error.message : 'no error')

async function greeted(): Promise<PipeClient> {
  const client = await pipe()
  client.send(INITIALIZE)
  await client.next()
  return client
}

async function called(client: PipeClient): Promise<Seen> {
  const next = client.gate.next('slow/call')
  client.send(CALL)
  return next
}

test('a batch asks ahead of its array of answers, and a batch of responses answers', async () => {
  const client = await greeted()
  const next = client.gate.next('slow/call')
  client.write(`${JSON.stringify([{ jsonrpc: '2.0', ...CALL }])}\n`)
  const seen = await next

  const replies = [seen.ask('roots/list'), seen.ask('sampling/createMessage')]
  const asks = [await client.next(), await client.next()]
  const responses = asks.map(({ id, method }) => ({ jsonrpc: '2.0', id, result: { to: method } }))
  client.write(`${JSON.stringify(responses)}\n`)
  const replied = await Promise.all(replies)
  seen.resolve(result({ done: true }))
  const answer = (await client.next()) as unknown as Message[]

  assert.deepEqual(replied, [{ result: { to: 'roots/list' } }, { result: { to: 'sampling/createMessage' } }])
  assert.deepEqual(answer[0]?.result, { done: true })
})

test('when the client closes its end, or we stop, nobody waits for its replies', async () => {
  const leaving = await greeted()
  const left = (await called(leaving)).ask('roots/list')
  const staying = await greeted()
  const seen = await called(staying)
  const stopped = seen.ask('roots/list')

  leaving.input.end()
  const stopping = staying.listener.stop(5000)
  const replies = await Promise.all([left, stopped])
  const late = await seen.ask('roots/list')
  seen.resolve(result({}))
  await stopping
  await leaving.listener.stop(0)

  assert.deepEqual(replies.map(errorOf), ['the client closed the connection', 'shutdown'])
  assert.equal(errorOf(late), 'shutdown')
})
