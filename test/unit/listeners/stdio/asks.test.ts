import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { AskReply } from '../../../../src/api/index.ts'
import { Requester, ServerRequests } from '../../../../src/listeners/client/server-requests.ts'
import { DroppedMessages } from '../../../../src/net/unexpected-messages.ts'
import { log, realClock, result, type Seen } from '../http/fake-gate.ts'
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

test('an ask is a line, and the line with strictly its id answers it', async () => {
  const client = await greeted()
  const seen = await called(client)

  const reply = seen.ask('elicitation/create', { message: 'Your name?' })
  const ask = await client.next()
  client.send({ id: 1, result: { no: 1 } }, { id: 'x', result: { no: 2 } }, { id: null, result: {} })
  client.send({ id: ask.id, result: { yes: true } }, { id: ask.id, result: { no: 3 } })
  const replied = await reply
  seen.resolve(result({ done: true }))
  const answer = await client.next()

  assert.equal(typeof ask.id, 'string')
  assert.deepEqual([ask.method, ask.params], ['elicitation/create', { message: 'Your name?' }])
  assert.deepEqual(replied, { result: { yes: true } })
  assert.deepEqual([answer.id, answer.result], [1, { done: true }])
})

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

test('a call that is cancelled or ends takes its ask back', async () => {
  const client = await greeted()
  const first = await called(client)
  const cancelledReply = first.ask('roots/list')
  const ask = await client.next()

  client.send({ method: 'notifications/cancelled', params: { requestId: ask.id } })
  client.send({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough' } })
  const cancelled = await client.next()
  const second = await called(client)
  const endedReply = second.ask('roots/list')
  const secondAsk = await client.next()
  second.resolve(result({ done: true }))
  const ended = await client.next()

  assert.deepEqual(
    [cancelled.method, cancelled.params],
    ['notifications/cancelled', { requestId: ask.id, reason: 'enough' }],
  )
  assert.equal(errorOf(await cancelledReply), 'enough')
  assert.equal(ended.params.requestId, secondAsk.id)
  assert.match(errorOf(await endedReply), /has ended/)
  assert.deepEqual((await client.next()).result, { done: true })
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

test('an ask that its server takes back is cancelled at the client, whose answer counts no more', async () => {
  const sent: Message[] = []
  const drops = new DroppedMessages(log)
  const asks = new ServerRequests(realClock, drops)
  const asking = new Requester(asks, message => Boolean(sent.push(JSON.parse(message) as Message)))
  let takeBack: ((reason: string) => void) | undefined
  const onTakeBack = (listener: (reason: string) => void): void => void (takeBack = listener)

  const reply = asking.ask({ method: 'roots/list', params: undefined, onCancel: onTakeBack })
  await new Promise(resolve => setImmediate(resolve))
  takeBack?.('changed its mind')
  const id = String(sent[0]?.id)
  asks.receiveReply({ kind: 'response', id, result: undefined, error: undefined, resultType: undefined })

  assert.equal(errorOf(await reply), 'changed its mind')
  assert.deepEqual(
    sent.map(({ method, params }) => [method, params]),
    [
      ['roots/list', undefined],
      ['notifications/cancelled', { requestId: id, reason: 'changed its mind' }],
    ],
  )
  assert.deepEqual(drops.counts, { response: 1 })
})
