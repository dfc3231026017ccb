import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import type { TestReply, TestClient, TestUpstream } from '../../../src/testing/index.ts'
import { handlers } from './handlers.ts'
import { assertMatches, matches } from './match.ts'
import type { Stage } from './run.ts'
import type { Step } from './transcript.ts'

const PATIENCE_MS = 5000

type Act = (step: Step, stage: Stage, where: string) => Promise<void> | void

/** Steps by the member that names them. */
const ACTS: readonly (readonly [keyof Step, Act])[] = [
  ['request', request],
  ['raw', raw],
  ['listen', async (step, stage) => (await stage.client(step.client)).listen()],
  [
    'notified',
    async (step, stage) => void (await (await stage.client(step.client)).nextNotification(step.notified ?? '')),
  ],
  ['calls', calls],
  ['counts', counts],
  ['cancelled', async (step, stage) => (await upstream(step, stage).waitForCall(step.cancelled ?? '')).waitForCancel()],
  ['offer', offer],
  ['stop', (step, stage) => upstream({ upstream: step.stop }, stage).stop()],
  ['restart', (step, stage) => upstream({ upstream: step.restart }, stage).restart()],
  ['state', state],
  ['log', log],
]

/** Plays one step. */
export async function perform(step: Step, stage: Stage, where: string): Promise<void> {
  const act = ACTS.find(([key]) => step[key] !== undefined)?.[1]
  assert.ok(act !== undefined, `${where} says nothing to do: ${JSON.stringify(step)}`)
  await act(step, stage, where)
}

async function request(step: Step, stage: Stage, where: string): Promise<void> {
  const client = await stage.client(step.client)
  if (step.allPages === true) return allPages(step, client, where)
  const running = client.start(step.request ?? '', step.params, {
    headers: step.headers,
    ...(step.as === undefined ? {} : { id: step.as }),
  })
  if (step.cancel === true) {
    await upstream(step, stage).waitForCall(step.request ?? '')
    await running.cancel()
    const reply = await running.reply
    // A legacy POST must end somehow, so it ends with an error that nobody waits for.
    if (!reply.isCancelled) assertMatches(reply.error, { data: { code: 'GW_CANCELLED' } }, where)
    return
  }
  assertReply(await running.reply, step, where)
}

async function allPages(step: Step, client: TestClient, where: string): Promise<void> {
  const names: unknown[] = []
  let cursor: unknown
  do {
    const { result } = await client.request(step.request ?? '', cursor === undefined ? undefined : { cursor })
    names.push(...namesOf(result))
    cursor = result?.nextCursor
  } while (cursor !== undefined)
  assert.deepEqual(names, step.names, where)
}

async function raw(step: Step, stage: Stage, where: string): Promise<void> {
  const client = await stage.client(step.client)
  assertReply(await client.sendRaw(step.raw ?? '', step.headers), step, where)
}

function assertReply(reply: TestReply, expected: Step, where: string): void {
  const seen = `${where}: ${JSON.stringify(reply.error ?? reply.result)}`
  if (expected.error === undefined && expected.status === undefined) assert.equal(reply.error, undefined, seen)
  if (expected.result !== undefined) assertMatches(reply.result, expected.result, `${where} result`)
  if (expected.error !== undefined) assertMatches(reply.error, expected.error, `${where} error`)
  if (expected.status !== undefined) assert.equal(reply.status, expected.status, seen)
  if (expected.id !== undefined) assert.strictEqual(reply.id, expected.id, `${where} id`)
  if (expected.notifications !== undefined)
    assertMatches(reply.notifications, expected.notifications, `${where} notifications`)
  if (expected.names !== undefined) assert.deepEqual(namesOf(reply.result), expected.names, where)
}

function namesOf(result: JsonObject | undefined): unknown[] {
  const list = result?.tools ?? result?.prompts ?? result?.resources ?? result?.resourceTemplates ?? []
  return (list as JsonObject[]).map(entry =>
    result?.resources === undefined ? (entry.uriTemplate ?? entry.name) : entry.uri,
  )
}

function calls(step: Step, stage: Stage, where: string): void {
  for (const [method, expected] of Object.entries(step.calls ?? {})) {
    const got = upstream(step, stage)
      .listCalls(method)
      .map(({ params, headers }) => ({ params, headers }))
    assertMatches(got, expected, `${where} ${method} at ${step.upstream ?? ''}`)
  }
}

function counts(step: Step, stage: Stage, where: string): void {
  const got = Object.keys(step.counts ?? {}).map(method => [method, upstream(step, stage).listCalls(method).length])
  assert.deepEqual(Object.fromEntries(got), step.counts, `${where} at ${step.upstream ?? ''}`)
}

async function offer(step: Step, stage: Stage): Promise<void> {
  const { offer: offered } = upstream(step, stage)
  if (step.offer?.tools !== undefined) replace(offered.tools, handlers(step.offer.tools) ?? {})
  if (step.offer?.prompts !== undefined) replace(offered.prompts, handlers(step.offer.prompts) ?? {})
  if (step.offer?.resources !== undefined) replace(offered.resources, step.offer.resources)
  if (step.notify === undefined) return
  await upstream(step, stage).waitForListener()
  upstream(step, stage).notify(step.notify)
}

function replace<T>(map: Map<string, T>, entries: Readonly<Record<string, T>>): void {
  map.clear()
  for (const [name, entry] of Object.entries(entries)) map.set(name, entry)
}

async function state(step: Step, stage: Stage, where: string): Promise<void> {
  const handle = stage.gateway.gateway.upstreams.get(step.upstream ?? '')
  await eventually(
    () => handle?.status().state === step.state,
    () => `${where}: ${step.upstream ?? ''} is ${JSON.stringify(handle?.status())}`,
  )
}

async function log(step: Step, stage: Stage, where: string): Promise<void> {
  await eventually(
    () => stage.gateway.log.some(line => matches(line, step.log)),
    () => `${where}: no such line in the log:\n${stage.gateway.log.map(line => JSON.stringify(line)).join('\n')}`,
  )
}

async function eventually(holds: () => boolean, what: () => string): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  while (!holds()) {
    if (Date.now() > deadline) assert.fail(what())
    await pause(5)
  }
}

function upstream(step: Pick<Step, 'upstream'>, stage: Stage): TestUpstream {
  const found = stage.upstreams.get(step.upstream ?? '')
  assert.ok(found !== undefined, `the transcript names no upstream, or one that is not there: ${step.upstream ?? ''}`)
  return found
}
