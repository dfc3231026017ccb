import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { closeAfter, testClient, testUpstream, type TestUpstream } from '../../../../src/testing/index.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import { gateway } from '../../cli/run.ts'
import { enter, type Heard, type Wanderer } from './requests.ts'
import { everything, type Running, twoWorkers } from '../setting.ts'

export const isOff = process.platform === 'win32'
/** Connections go to the workers in turn, so that of so many each gets some. */
const BOTH = 4

export interface Opened extends Running {
  readonly web: TestUpstream
  link(): Promise<string>
  enter(): Promise<Wanderer>
  /** Has each worker serve so many calls. */
  call(each: number): Promise<void>
}

export async function opened(t: TestContext, config: JsonObject = {}): Promise<Opened> {
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } }
  const who = { method: 'elicitation/create', params: { mode: 'form', message: 'Who?', requestedSchema } }
  const tools = {
    echo: (args: JsonObject) => String(args.text),
    ask: (_args: JsonObject, { params: { inputResponses } }: { params: JsonObject }) =>
      inputResponses === undefined
        ? { resultType: 'input_required', inputRequests: { who } }
        : JSON.stringify(inputResponses),
  }
  const web = closeAfter(t, await testUpstream({ tools, era: 'modern' }))
  const upstreams = { all: everything(), web: { type: 'http', url: web.url } }
  const running = await twoWorkers(t, { upstreams, ui: { values: '*' }, ...config })
  const link = async (): Promise<string> => {
    const { code, stdout, stderr } = await gateway(['ui', '--no-open'], { cwd: running.cwd })
    assert.equal(code, 0, stderr)
    return stdout.trim()
  }
  return {
    ...running,
    web,
    link,
    enter: async () => enter(await link()),
    async call(each) {
      for (let turn = 0; turn < each * 2; turn++) {
        const client = await testClient(running.url)
        await client.request('tools/call', { name: 'web__echo', arguments: { text: `call ${turn}` } })
        await client.close()
      }
    },
  }
}

/** Asks both workers the same. */
export async function ofBoth<T>(ask: () => Promise<T>): Promise<T[]> {
  const answers: T[] = []
  for (let turn = 0; turn < BOTH; turn++) answers.push(await ask())
  return answers
}

export function countIn({ events }: Heard): number {
  return events.reduce((sum, { type, count }) => sum + (type === 'call' ? Number(count) : 0), 0)
}
