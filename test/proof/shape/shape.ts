/** Shows that no cut loses anything, that nobody opens another's handle, and that slow calls are answered in time. `npm run proof -- shape`; two minutes. */
import { isDeepStrictEqual } from 'node:util'
import { makeKey } from '../../../src/cli/scaffold/new-key.ts'
import { createGateway } from '../../../src/index.ts'
import { type Answer, Payload, type Plugin } from '../../../src/plugin.ts'
import { isObject, type JsonObject } from '../../../src/protocol/json/json.ts'
import {
  testClient,
  testGateway,
  testUpstream,
  type TestClient,
  type TestGateway,
} from '../../../src/testing/index.ts'
import { resultOf, type Made } from './results.ts'

const COUNT = Number(process.env.COUNT ?? 10_000)
const MAX_TOKENS = 1500
const MAX_BYTES = MAX_TOKENS * 3.6
/** Three minutes and half a minute, a hundred times as fast. */
const SLOW_MS = 1800
const PATIENCE_MS = 300
const COSTS = 4000

const passed = [await whole(), await slowly(), await cost()]
if (passed.flat().includes(false)) process.exitCode = 1

function row(what: string, figure: string, holds: boolean): boolean {
  console.log(`${holds ? 'PASS' : 'FAIL'}  ${what.padEnd(78)} ${figure}`)
  return holds
}

interface Block extends JsonObject {
  readonly type: string
  readonly text?: string
}

/** Results of every kind, each read back whole by its caller and tried by another. */
async function whole(): Promise<boolean[]> {
  const sent = new Map<number, string>()
  const server = await testUpstream({ tools: { make: ({ n }) => resultOf(Number(n)).result } })
  const capture: Plugin<never> = {
    name: 'capture',
    setup({ hooks }) {
      // Innermost: the bytes as the server wrote them.
      hooks.dispatch.tap(next => async call => {
        const answer = await next(call)
        const given = call.params?.arguments
        if ('result' in answer && isObject(given) && typeof given.n === 'number')
          sent.set(given.n, answer.result.bytes().toString('utf8'))
        return answer
      })
    },
  }
  const keys = ['ann', 'bob'].map(name => makeKey(name, []))
  const gateway = await testGateway({
    upstreams: { web: server },
    plugins: [capture],
    config: {
      cache: false,
      auth: { keys: keys.map(({ name, hash }) => ({ name, hash })) },
      shape: { maxTokens: MAX_TOKENS, keep: { bytes: '64MiB', share: '32MiB' } },
    },
  })
  const [ann, bob] = await Promise.all(
    keys.map(({ key }, index) =>
      testClient(gateway, {
        era: index === 0 ? 'modern' : 'legacy',
        headers: { authorization: `Bearer ${key}` },
      }),
    ),
  )
  if (ann === undefined || bob === undefined) throw new Error('there are two callers')
  const found = { cut: 0, same: 0, wrong: new Map<string, number>(), opened: 0 }
  for (let n = 0; n < COUNT; n++) {
    const made = resultOf(n)
    const problem = await problemOf(ann, bob, n, { made, sent, found })
    if (problem !== undefined) found.wrong.set(problem, (found.wrong.get(problem) ?? 0) + 1)
    sent.delete(n)
  }
  await Promise.all([ann, bob].map(client => client[Symbol.asyncDispose]()))
  await gateway.gateway.close()
  await server[Symbol.asyncDispose]()
  for (const [problem, count] of found.wrong) console.log(`      ${problem}: ${count}`)
  return [
    row(
      `${COUNT} results of 16 kinds: valid, within the limit, whole read back byte for byte`,
      `${found.cut} cut, ${found.same} as they came`,
      found.wrong.size === 0 && found.cut > COUNT / 8,
    ),
    row(
      'handles of those that opened for another caller, by the tool and as resource',
      String(found.opened),
      found.opened === 0,
    ),
  ]
}

interface Checked {
  readonly made: Made
  readonly sent: ReadonlyMap<number, string>
  readonly found: { cut: number; same: number; opened: number }
}

/** What is wrong with an answer, in the order in which it is looked at; undefined for nothing. */
async function problemOf(
  ann: TestClient,
  bob: TestClient,
  n: number,
  { made, sent, found }: Checked,
): Promise<string | undefined> {
  const { result } = await ann.request('tools/call', { name: 'web__make', arguments: { n } })
  if (result === undefined) return `${made.kind}: no result`
  const meta = saidOf(result)
  if (meta === undefined) {
    found.same++
    return sameProblem(made, result)
  }
  found.cut++
  if (made.result.isError === true) return `${made.kind}: a failure was cut`
  const problem = formProblem(made, result)
  if (problem !== undefined) return `${made.kind}: ${problem}`
  return wholeProblem(ann, bob, meta, { whole: sent.get(n) ?? '', made, found })
}

/** What the gateway says that it did to a result. */
function saidOf(result: JsonObject | undefined): JsonObject | undefined {
  const said = isObject(result?._meta) ? result._meta['io.tapgate/result'] : undefined
  return isObject(said) ? said : undefined
}

function sameProblem({ kind, result: before }: Made, after: JsonObject): string | undefined {
  const forms = [before, after].map(({ content, structuredContent }) => ({ content, structuredContent }))
  if (!isDeepStrictEqual(forms[0], forms[1])) return `${kind}: changed in silence`
  return kind !== 'failure' && textBytes(after) > MAX_BYTES ? `${kind}: over the limit` : undefined
}

function formProblem({ result: before }: Made, after: JsonObject): string | undefined {
  if (textBytes(after) > MAX_BYTES + 200 || structureBytes(after) > MAX_BYTES) return 'over the limit'
  if (!isDeepStrictEqual(othersIn(before), othersIn(after))) return 'something else than text was touched'
  return wasJson(before) && valueOf(firstText(after)) === undefined ? 'no JSON any more' : undefined
}

function structureBytes({ structuredContent }: JsonObject): number {
  return structuredContent === undefined ? 0 : Buffer.byteLength(JSON.stringify(structuredContent))
}

function othersIn({ content }: JsonObject): unknown[] {
  return (content as Block[]).filter(({ type }) => type !== 'text' && type !== 'resource')
}

function firstText({ content }: JsonObject): string {
  return (content as Block[])[0]?.text ?? ''
}

/** True for a result that was one JSON text, not nested beyond what is looked at. */
function wasJson(before: JsonObject): boolean {
  const text = firstText(before)
  return (
    (before.content as Block[]).length === 1 &&
    valueOf(text) !== undefined &&
    !text.startsWith('['.repeat(250))
  )
}

async function wholeProblem(
  ann: TestClient,
  bob: TestClient,
  { handle, uri }: JsonObject,
  { whole, made, found }: { whole: string; made: Made; found: Checked['found'] },
): Promise<string | undefined> {
  const read = await ann.request('resources/read', { uri })
  const document = (read.result?.contents as JsonObject[] | undefined)?.[0]
  if (document?.text !== whole) return `${made.kind}: the whole is another one`
  const texts = (made.result.content as Block[]).map(({ text }) => text)
  const readable = await pages(ann, handle)
  if (readable !== texts[0] && readable !== whole) return `${made.kind}: the pages do not make the whole`
  const byTool = await bob.request('tools/call', { name: 'read_result', arguments: { handle } })
  const asResource = await bob.request('resources/read', { uri })
  if (byTool.result?.isError !== true || asResource.error === undefined) found.opened++
  return undefined
}

async function pages(client: TestClient, handle: unknown): Promise<string> {
  let text = ''
  for (let offset: unknown = 0; typeof offset === 'number';) {
    const { result } = await client.request('tools/call', {
      name: 'read_result',
      arguments: { handle, offset },
    })
    text += (result?.content as Block[] | undefined)?.[0]?.text ?? ''
    offset = isObject(result?._meta) ? (result._meta['io.tapgate/result'] as JsonObject).next : undefined
  }
  return text
}

function textBytes(result: JsonObject): number {
  return (result.content as Block[]).reduce((all, { text = '' }) => all + Buffer.byteLength(text), 0)
}

function valueOf(text: string): unknown {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** A call of three minutes for a client with half a minute of patience, a hundred times as fast, in each era and with tasks. */
async function slowly(): Promise<boolean[]> {
  const server = await testUpstream({
    tools: { slow: () => new Promise(resolve => setTimeout(() => resolve('done'), SLOW_MS)) },
  })
  const gateway = await testGateway({
    upstreams: { web: server },
    config: { cache: false, rest: {}, shape: { patience: PATIENCE_MS * 0.6 } },
  })
  const rows = [await slowlyFor(gateway, 'modern'), await slowlyFor(gateway, 'legacy'), await asTask(gateway)]
  await gateway.gateway.close()
  await server[Symbol.asyncDispose]()
  return rows
}

async function slowlyFor(gateway: TestGateway, era: 'modern' | 'legacy'): Promise<boolean> {
  const client = await testClient(gateway, { era })
  const times: number[] = []
  let { result } = await timed(times, () =>
    client.request('tools/call', { name: 'web__slow', arguments: {} }),
  )
  for (let said = saidOf(result); said !== undefined; said = saidOf(result)) {
    const args = { handle: said.handle }
    result = (await timed(times, () => client.request('tools/call', { name: 'result', arguments: args })))
      .result
  }
  await client[Symbol.asyncDispose]()
  const isDone = result !== undefined && firstText(result) === 'done'
  const what = `a ${era} client: a call of ${SLOW_MS} ms, with ${PATIENCE_MS} ms of patience`
  const longest = `${times.length} answers, the longest wait ${Math.round(Math.max(...times))} ms`
  return row(what, longest, isDone && times.length > 2)
}

async function asTask(gateway: TestGateway): Promise<boolean> {
  const client = await testClient(gateway, {
    capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  })
  const { result = {} } = await client.request('tools/call', { name: 'web__slow', arguments: {} })
  let task: JsonObject = result
  while (task.status === 'working') {
    await new Promise(resolve => setTimeout(resolve, 50))
    task = (await client.request('tasks/get', { taskId: result.taskId })).result ?? {}
  }
  await client[Symbol.asyncDispose]()
  const holds = result.resultType === 'task' && task.status === 'completed'
  return row('a modern client that knows tasks: a task, and its result', String(task.status), holds)
}

async function timed<T>(times: number[], work: () => Promise<T>): Promise<T> {
  const began = performance.now()
  const value = await work()
  times.push(performance.now() - began)
  return value
}

/** Processor time of a call, in turns: without the section, with a rule that fits nothing or changes nothing, and with ones that do. */
async function cost(): Promise<boolean[]> {
  const small = { content: [{ type: 'text', text: 'x'.repeat(2000) }] }
  const items = Array.from({ length: 300 }, (_, id) => ({ id, title: `row ${id}`, html: '<p>'.repeat(20) }))
  const large = { content: [{ type: 'text', text: JSON.stringify(items) }] }
  const forms: Readonly<Record<string, readonly [JsonObject | undefined, JsonObject]>> = {
    'no section, 2 KB': [undefined, small],
    'a rule of another tool, 2 KB': [{ tools: { other: { maxTokens: 1000 } } }, small],
    'a limit that is kept, 2 KB': [{ maxTokens: 1000 }, small],
    'a patience that is kept, 2 KB': [{ patience: '30s' }, small],
    'no section, 27 KB': [undefined, large],
    'a cut, 27 KB': [{ maxTokens: 1000 }, large],
    'a pick, 27 KB': [{ pick: '[].title' }, large],
  }
  const scenes = await Promise.all(
    Object.entries(forms).map(async ([name, [shape, result]]) => ({
      name,
      us: [] as number[],
      ...(await costScene(shape, result)),
    })),
  )
  for (let turn = 0; turn < 6; turn++)
    for (const scene of scenes) {
      const before = process.cpuUsage()
      for (let n = 0; n < COSTS / 6; n++) await scene.call()
      const { user, system } = process.cpuUsage(before)
      scene.us.push((user + system) / (COSTS / 6))
    }
  for (const { name, us, close } of scenes) {
    const [, best = 0] = us.toSorted((a, b) => a - b)
    console.log(`      ${name.padEnd(78)} ${best.toFixed(1)} µs of processor time a call`)
    await close()
  }
  return []
}

async function costScene(shape: JsonObject | undefined, result: JsonObject) {
  const bytes = Buffer.from(JSON.stringify(result))
  const server = await testUpstream({ tools: { fixed: () => 'never' } })
  const fixed: Plugin<never> = {
    name: 'fixed',
    setup({ hooks }) {
      hooks.dispatch.tap(next => call => {
        const answer: Answer = { result: Payload.raw(bytes, 'modern') }
        return call.method === 'tools/call' ? Promise.resolve(answer) : next(call)
      })
    },
  }
  const upstreams = { web: { type: 'http', url: server.url } }
  const gateway = await createGateway(
    { upstreams, cache: false, ...(shape === undefined ? {} : { shape }) },
    { plugins: [fixed] },
  )
  const connection = await gateway.connect()
  await connection.request('tools/list')
  return {
    call: () => connection.raw('tools/call', { name: 'web__fixed', arguments: {} }),
    close: async () => {
      connection.close()
      await gateway.close()
      await server[Symbol.asyncDispose]()
    },
  }
}
