import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { runAgent } from '../../../../plugins/agents/commands.ts'
import type { CommandOutput } from '../../../../src/api/command.ts'
import { promptForSchema } from '../../../../src/cli/output/prompt.ts'
import type { JsonObject } from '../../../../src/plugin.ts'

const DECISION = {
  type: 'object',
  properties: { decision: { type: 'string', enum: ['allow', 'deny'] } },
  required: ['decision'],
}

/** A task that asks these forms and then ends, whose owner types these lines where there is a terminal; what was replied. */
async function answered(
  schemas: readonly unknown[],
  typed: readonly string[] | undefined,
  refuse?: Error,
): Promise<{ replies: JsonObject[]; verbs: string[]; shown: string }> {
  const stdin = Object.assign(new PassThrough(), { isTTY: typed !== undefined })
  const stderr = new PassThrough()
  const host = Object.assign(new EventEmitter(), { stdin, stderr }) as unknown as NodeJS.Process
  let shown = ''
  const lines = [...(typed ?? [])]
  stderr.on('data', chunk => {
    shown += String(chunk)
    if (!String(chunk).endsWith(': ')) return
    const line = lines.shift()
    if (line === undefined) stdin.end()
    else stdin.write(`${line}\n`)
  })
  const out: CommandOutput = {
    line: text => void stderr.write(`${text}\n`),
    paint: (_, text) => text,
    width: 80,
  }
  const call = {
    err: out,
    promptForm: async (schema: unknown) => (stdin.isTTY ? promptForSchema(schema, host) : undefined),
    onInterrupt: () => () => undefined,
  }
  const replies: JsonObject[] = []
  const verbs: string[] = []
  const questions = schemas.map((schema, i) => ({ question_id: `q${i}`, message: 'May it?', schema }))
  const ask = async (verb: string, params: JsonObject = {}): Promise<JsonObject> => {
    verbs.push(verb)
    if (verb === 'agents.run') return { task_id: 't' }
    if (verb !== 'agents.reply') return replies.length > 0 ? { state: 'completed' } : { questions }
    replies.push(params)
    if (refuse !== undefined) throw refuse
    return {}
  }
  await runAgent(ask, {}, call)
  return { replies, verbs, shown }
}

test('what does not fit a question is asked for again', async () => {
  const { replies, shown } = await answered([DECISION], ['maybe', 'allow'])

  assert.deepEqual(replies, [{ task: 't', question: 'q0', action: 'accept', content: { decision: 'allow' } }])
  assert.equal(shown.split('decision [allow, deny] (empty declines)').length, 3)
})

test('an empty line declines, a form without needs is not accepted by itself, and without a terminal nothing is', async () => {
  const action = async (schema: unknown, typed?: readonly string[]): Promise<unknown> => {
    const { replies } = await answered([schema], typed)
    return [replies[0]?.action, replies[0]?.content]
  }

  assert.deepEqual(await action(DECISION, ['']), ['decline', undefined])
  assert.deepEqual(await action(DECISION), ['decline', undefined])
  assert.deepEqual(await action({}, ['']), ['decline', undefined])
  assert.deepEqual(await action(null, ['y']), ['accept', {}])
  const free = { properties: { message: { type: 'string' }, count: { type: 'integer' } } }
  assert.deepEqual(await action(free, ['y', '', 'x', '3']), ['accept', { count: 3 }])
})

test('an answer that comes too late is said so, and the task is followed to its end', async () => {
  const { verbs, shown } = await answered([DECISION], ['deny'], new Error('it has been answered already'))

  assert.match(shown, /it has been answered already/)
  assert.equal(verbs.at(-1), 'agents.status')
})
