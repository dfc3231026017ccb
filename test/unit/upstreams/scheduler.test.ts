import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Ask, AskReply, Clock } from '../../../src/api/index.ts'
import {
  bench,
  callOf,
  clock,
  countedBy,
  script,
  stdioSpec,
  textOf,
  toolCall,
  type Bench,
  type TestCall,
} from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

const SERVER = script('turns-server.mjs')
/** Turns are counted in ticks of 50 ms; nothing else takes as long. */
const HASTE: Clock = { now: clock.now, after: (ms, run) => clock.after(ms === 50 ? 1 : ms, run) }

describe('calls of one legacy server on a pipe', { concurrency: 4 }, () => {
  it('that ask are each asked what is theirs, however many there are', async t => {
    const it = await server(t)
    it.reply = async ask => echo(ask)
    const calls = Array.from({ length: 50 }, (_, n) => tool('ask', `q${n}`))

    const answers = await Promise.all(calls.map(call => it.upstream.dispatch(call)))

    assert.deepEqual(
      answers.map(textOf),
      calls.map((_, n) => `q${n}`),
    )
    assert.equal(it.asked.length, 50)
    for (const { ask, exchange } of it.asked) assert.equal(argumentOf(exchange?.params), ask.params?.message)
  })

  it('go on while a client thinks, and its reply is passed on when its call is alone again', async t => {
    const it = await server(t)
    const [ask, quick] = [tool('twice', 'slow thinker'), tool('quick')]
    await it.upstream.dispatch(tool('quick'))
    await learn(it, 'hold')
    let replies: ((reply: AskReply) => void)[] = []
    it.reply = () => new Promise(resolve => replies.push(resolve))

    const answer = it.upstream.dispatch(ask)
    await until(() => replies.length === 1, 'the client is asked')
    assert.equal(textOf(await it.upstream.dispatch(quick)), 'quick')
    const held = it.upstream.dispatch(tool('hold', 'beside'))
    await until(() => it.stderr().includes('hold beside'), 'another call is open')
    replies[0]?.(said('one'))
    await it.upstream.dispatch(release('beside', false))
    assert.equal(textOf(await held), 'released')
    await until(() => replies.length === 2, 'the client is asked again')
    replies[1]?.(said('two'))

    assert.equal(textOf(await answer), 'one two')
    assert.ok(it.asked.every(({ exchange }) => exchange === ask.exchange))
    replies = []
  })

  it('that asks for the first time beside others is refused once, with a warning, and has its turn from then on', async t => {
    const it = await server(t)
    it.reply = async ask => echo(ask)
    for (const name of ['hold', 'quick']) await learn(it, name)
    const [one, two] = [tool('hold', 'one'), tool('hold', 'two')]
    const answers = [it.upstream.dispatch(one), it.upstream.dispatch(two)]
    await until(() => it.stderr().includes('hold two'), 'both are open')
    await it.upstream.dispatch(release('one', true))
    assert.match(textOf(await (answers[0] as Promise<never>)), /cannot tell which client/)
    await it.upstream.dispatch(release('two', false))
    await answers[1]

    const again = [tool('hold', 'one'), tool('hold', 'two')].map(call => it.upstream.dispatch(call))
    for (const text of ['one', 'two']) {
      await until(
        () => it.stderr().filter(line => line === `hold ${text}`).length === 2,
        `${text} has its turn`,
      )
      await it.upstream.dispatch(release(text, true))
    }

    assert.deepEqual((await Promise.all(again)).map(textOf), ['one', 'two'])
    assert.equal(
      it.logs.filter(({ level, message }) => level === 'warn' && /isolation/.test(message)).length,
      1,
    )
  })

  it('that a slow one keeps waiting let others pass', async t => {
    const it = await server(t)
    it.reply = async ask => echo(ask)
    for (const name of ['hold', 'quick', 'ask']) await learn(it, name)
    const slow = it.upstream.dispatch(tool('hold', 'slow'))
    const asking = it.upstream.dispatch(tool('ask', 'me'))

    const quick = await Promise.all(Array.from({ length: 20 }, () => it.upstream.dispatch(tool('quick'))))

    assert.equal(quick.length, 20)
    assert.ok(!it.stderr().includes('ask me'))
    await it.upstream.dispatch(release('slow', false))
    assert.equal(textOf(await asking), 'me')
    await slow
  })
})

describe('a legacy server on a pipe that others share', { concurrency: 2 }, () => {
  it('keeps nobody waiting for a tool that never answers, however often it is called', async t => {
    const [it, other] = [await server(t), await server(t)]
    for (const one of [it, other]) await learn(one, 'quick')
    const hang = (): void => void it.upstream.dispatch(tool('hold', 'hung')).catch(() => undefined)
    const hung = setInterval(hang, 20)
    cleanup(t, () => clearInterval(hung))
    const timeOf = async ({ upstream }: Bench): Promise<number> => {
      const started = performance.now()
      await upstream.dispatch(tool('quick'))
      return performance.now() - started
    }
    // More than a server takes at the same moment of whom nothing else is wanted: a busy machine is slow for both.
    const more: number[] = []

    for (let n = 0; n < 150; n++) {
      const [beside, alone] = await Promise.all([timeOf(it), timeOf(other)])
      more.push(beside - alone)
      await new Promise(resolve => setTimeout(resolve, 10))
    }

    clearInterval(hung)
    more.sort((a, b) => a - b)
    const [p50 = 0, p99 = 0] = [more[75], more[148]]
    t.diagnostic(`p50 ${p50} ms, p99 ${p99} ms`)
    assert.ok(p99 < 200, `p50 ${p50} ms, p99 ${p99} ms`)
    await it.upstream.stop()
  })

  it('that asks though nobody has called it is not answered by a call that happens to be alone and never asks', async t => {
    const it = await server(t)
    it.reply = async ask => echo(ask)
    await learn(it, 'hold')
    await it.upstream.dispatch(callOf('tools/list', { cursor: '{"uncalled":true}' }))
    await until(() => it.stderr().some(line => line.startsWith('uncalled: ')), 'that one is refused')

    const alone = it.upstream.dispatch(tool('hold', 'alone'))
    await until(() => it.stderr().includes('hold alone'), 'it is open')
    await it.upstream.dispatch(callOf('tools/list', { cursor: '{"uncalled":true}' }))
    await until(() => it.stderr().filter(line => line.startsWith('uncalled: ')).length === 2, 'refused')
    await it.upstream.dispatch(release('alone', false))

    assert.equal(textOf(await alone), 'released')
    assert.deepEqual(it.asked, [])
    assert.equal(
      textOf(await it.upstream.dispatch(tool('ask', 'mine'))),
      'mine',
      'who does ask is asked still',
    )
  })
})

describe('a call that waits for its turn', { concurrency: 4 }, () => {
  it('can be cancelled, and its server hears nothing of it', async t => {
    const { it, first } = await thinking(t)
    const second = tool('ask', 'second')
    const answer = it.upstream.dispatch(second)

    second.cancel('enough')

    assert.equal('error' in (await answer), true)
    await it.upstream.dispatch(release('nothing', false))
    assert.ok(!it.stderr().some(line => line.includes('second') || line === 'cancelled'))
    first.cancel('enough')
  })

  it('fails when the server is gone', async t => {
    const { it, answer } = await thinking(t)
    const second = it.upstream.dispatch(tool('ask', 'second'))
    const refused = [answer, second].map(call => assert.rejects(call, { code: 'GW_UPSTREAM_CLOSED' }))

    process.kill(it.upstream.pid ?? 0, 'SIGKILL')

    await Promise.all(refused)
  })

  it('waits no longer than half a minute for a client that does not answer: its ask is taken back', async t => {
    const { it, answer } = await thinking(t, HASTE)
    const takenBack: string[] = []
    it.asked[0]?.ask.onTakeBack?.(reason => takenBack.push(reason))
    it.reply = async ask => echo(ask)

    assert.equal(textOf(await it.upstream.dispatch(tool('ask', 'second'))), 'second')

    assert.equal(textOf(await answer), 'cancel')
    assert.deepEqual(takenBack, ['the client did not answer in time, and others wait'])
  })
})

describe('a log that names no call', { concurrency: 2 }, () => {
  it('comes to no other call of 20 clients with 50 each, however late a cancelled call is logged', async t => {
    const seconds: (() => void)[] = []
    const it = await server(t, countedBy(seconds))
    await learn(it, 'speak')
    const calls: TestCall[] = []
    const say = (client: number, n: number): Promise<unknown> => {
      const call = tool('speak', `${client}-${n}`)
      calls.push(call)
      return it.upstream.dispatch(call)
    }
    const cancelled = Array.from({ length: 20 }, (_, client) => tool('speak-late', `${client}-late`))
    const given = cancelled.map(call => it.upstream.dispatch(call))
    await until(
      () => it.stderr().filter(line => line.startsWith('speak-late')).length === 20,
      'all were sent',
    )
    for (const call of cancelled) call.cancel('enough')
    await Promise.all(given)
    for (let second = 0; second < 3; second++) seconds.shift()?.()

    await Promise.all(
      Array.from({ length: 20 }, async (_, client) => {
        for (let n = 0; n < 50; n++) {
          if (n === 2 * client) await it.upstream.dispatch(release(`${client}-late`, false))
          await say(client, n)
        }
      }),
    )
    await say(0, 50)

    for (const { params, emitted } of calls)
      for (const log of emitted) assert.equal(log.params?.data, argumentOf(params))
    for (const call of cancelled) assert.deepEqual(call.emitted, [])
  })

  it('goes to the only call there is once a cancelled one was answered', async t => {
    const it = await server(t)
    const gone = tool('hold', 'gone')
    const given = it.upstream.dispatch(gone)
    await until(() => it.stderr().includes('hold gone'), 'it is open')
    gone.cancel('enough')
    await given
    const during = tool('speak', 'during')
    await it.upstream.dispatch(during)
    await it.upstream.dispatch(release('gone', false))
    const after = tool('speak', 'after')
    await it.upstream.dispatch(after)

    assert.deepEqual(during.emitted, [])
    assert.deepEqual(
      after.emitted.map(({ params }) => params?.data),
      ['after'],
    )
  })
})

describe('an ask', { concurrency: 4 }, () => {
  it('of a call that was cancelled is given to nobody else', async t => {
    const it = await server(t)
    it.reply = async ask => echo(ask)
    await learn(it, 'ask')
    const gone = tool('hold', 'gone')
    const given = it.upstream.dispatch(gone)
    await until(() => it.stderr().includes('hold gone'), 'it is open')
    gone.cancel('enough')
    await given
    const other = it.upstream.dispatch(tool('ask', 'mine'))

    await it.upstream.dispatch(release('gone', true))

    assert.equal(textOf(await other), 'mine')
    assert.deepEqual(
      it.asked.map(({ ask }) => ask.params?.message),
      ['', 'mine'],
    )
  })

  it('of a call that is cancelled is answered at once, so that its server can end it', async t => {
    const it = await server(t)
    it.reply = () => new Promise(() => undefined)
    const asking = tool('ask', 'gone')
    const given = it.upstream.dispatch(asking)
    await until(() => it.asked.length === 1, 'the client is asked')
    const takenBack: string[] = []
    it.asked[0]?.ask.onTakeBack?.(reason => takenBack.push(reason))

    asking.cancel('enough')
    await given

    it.reply = async ask => echo(ask)
    const started = performance.now()
    assert.equal(textOf(await it.upstream.dispatch(tool('ask', 'next'))), 'next')
    assert.ok(performance.now() - started < 5000, 'the next does not wait for what the first might ask')
    assert.deepEqual(takenBack, ['enough'])
  })

  it('that its server takes back is taken back from the client', async t => {
    const it = await server(t)
    it.reply = () => new Promise(() => undefined)
    const answer = it.upstream.dispatch(tool('take-back', 'x'))
    await until(() => it.asked.length === 1, 'the client is asked')
    const takenBack: string[] = []
    it.asked[0]?.ask.onTakeBack?.(reason => takenBack.push(reason))

    await it.upstream.dispatch(release('x', false))

    assert.equal(textOf(await answer), 'never mind')
    assert.deepEqual(takenBack, ['the server no longer wants to know'])
    assert.equal(it.asked[0]?.ask.isTakenBack, true)
  })
})

async function server(t: TestContext, time: Clock = clock): Promise<Bench> {
  const it = await bench(t, stdioSpec([SERVER], { era: 'legacy' }), { clock: time })
  await it.upstream.start()
  return it
}

/** A server one of whose clients was asked and does not answer. */
async function thinking(t: TestContext, time?: Clock) {
  const it = await server(t, time)
  it.reply = () => new Promise(() => undefined)
  const first = tool('ask', 'first')
  const answer = it.upstream.dispatch(first)
  await until(() => it.asked.length === 1, 'the client is asked')
  return { it, first, answer }
}

/** Calls a tool alone, so that it is known whether it asks. */
async function learn(it: Bench, name: string): Promise<void> {
  const answer = it.upstream.dispatch(tool(name, ''))
  if (name === 'hold') {
    await until(() => it.stderr().includes('hold '), 'it is open')
    await it.upstream.dispatch(release('', false))
  }
  await answer
}

function tool(name: string, text = ''): TestCall {
  return toolCall(name, { text })
}

/** Lets a call that is held be answered, or ask. */
function release(text: string, asks: boolean): TestCall {
  return callOf('tools/list', { cursor: JSON.stringify({ text, asks }) })
}

function argumentOf(params: unknown): unknown {
  return (params as { arguments?: { text?: unknown } } | undefined)?.arguments?.text
}

function said(text: string): AskReply {
  return { result: { action: 'accept', content: { text } } }
}

function echo(ask: Ask): AskReply {
  return said(String(ask.params?.message))
}
