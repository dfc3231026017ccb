import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { type RawRequest, rawServer, type RawServer, startMalformed } from '../../../fixtures/malformed-upstream.ts'

/** A fault that a server has in answering one message. */
interface Fault {
  readonly name: string
  readonly answer: RawServer
}

/** Every step of a conversation that a fault may hit. */
const STEPS = ['server/discover', 'initialize', 'notifications/initialized', 'GET', 'lists', 'tools/call'] as const
type Step = (typeof STEPS)[number]

/** Each status that something is made of, and one of each kind of others. */
const STATUSES = [200, 202, 204, 300, 304, 307, 400, 401, 403, 404, 405, 409, 410, 422, 429, 500, 503]

const BODIES: Readonly<Record<string, string>> = {
  nothing: '',
  words: 'Session not found',
  'a page': '<html>no</html>',
  null: 'null',
  'an error': '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}',
  'an error without a code': '{"jsonrpc":"2.0","id":1,"error":{"message":null}}',
}

const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  'www-authenticate': 'Bearer resource_metadata=""',
  'retry-after': 'tomorrow',
}

const statusFaults: Fault[] = STATUSES.flatMap(status =>
  Object.entries(BODIES).map(([body, text]) => ({
    name: `${status} with ${body}`,
    answer: (_request: RawRequest, response: ServerResponse) => {
      const mayHaveBody = status !== 204 && status !== 304
      response.writeHead(status, HEADERS).end(mayHaveBody ? text : undefined)
    },
  })),
)

/** None of them leads to another server, and those that lead back do so for ever. */
const LOCATIONS = [
  '',
  '#a',
  '#',
  '//',
  'http://',
  'http://[',
  'http://127.0.0.1:1/',
  'file:///etc',
  'https://127.0.0.1/',
  'https:',
]

const redirects: Fault[] = LOCATIONS.flatMap(location =>
  [302, 308].map(status => ({
    name: `${status} to "${location}"`,
    answer: (_request: RawRequest, response: ServerResponse) => void response.writeHead(status, { location }).end(),
  })),
)

const EVENTS: readonly string[] = [
  '',
  ':\n\n',
  'data:\n\n',
  'data: null\n\n',
  'data: {\n\n',
  'data: []\n\n',
  'data: {"jsonrpc":"2.0"}\n\n',
  'data: {"jsonrpc":"2.0","id":"other","result":{}}\n\n',
  'data: {"jsonrpc":"2.0","method":5}\n\n',
  'event: error\ndata: no\n\n',
  'id: \u0000\nretry: -1\ndata: {}\n\n',
  'id: 7\n\n',
]

const streams: Fault[] = EVENTS.flatMap(text =>
  (['ends', 'breaks'] as const).map(how => ({
    name: `events ${JSON.stringify(text)}, which ${how}`,
    answer: (_request: RawRequest, response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      if (how === 'ends') return void response.end(text)
      response.write(text === '' ? ':' : text, () => response.destroy())
    },
  })),
)

const others: Fault[] = [
  { name: 'reset', answer: (_request, response) => void response.destroy() },
  {
    name: 'a short body',
    answer: (_request, response) => {
      response.writeHead(200, { ...HEADERS, 'content-length': '100' })
      response.write('{', () => response.destroy())
    },
  },
  {
    name: 'a session without an id',
    answer: (_request, response) => void response.writeHead(200, { 'mcp-session-id': '' }).end('{}'),
  },
  {
    name: 'a session of odd characters',
    answer: (_request, response) => void response.writeHead(200, { 'mcp-session-id': 'ä \t' }).end('{}'),
  },
]

const FAULTS = [...statusFaults, ...redirects, ...streams, ...others]

/** Bad servers of one gateway. */
const BATCH = 100

interface Variant extends Fault {
  readonly step: Step
}

/** Each fault hits one step; with each status another body hits it. */
const VARIANTS: Variant[] = FAULTS.map((fault, index) => ({
  ...fault,
  step: STEPS[(index + Math.floor(index / STEPS.length)) % STEPS.length] ?? 'lists',
}))

const TOOLS = { tools: [{ name: 'work', inputSchema: { type: 'object' } }] }
const EMPTY: Readonly<Record<string, unknown>> = {
  'tools/list': TOOLS,
  'prompts/list': { prompts: [] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
}

const fine = rawServer(method => EMPTY[method])

/** A legacy server with a session that does all well but one step. */
function serverOf({ step, answer }: Variant): RawServer {
  return (request, response) => {
    if (isAt(step, request)) return answer(request, response)
    if (request.message?.method === 'initialize') response.setHeader('mcp-session-id', 'session-1')
    return fine(request, response)
  }
}

function isAt(step: Step, { verb, message }: RawRequest): boolean {
  if (step === 'GET') return verb === 'GET'
  return step === 'lists' ? message?.method.endsWith('/list') === true : message?.method === step
}

const BATCHES = Math.ceil(VARIANTS.length / BATCH)

describe('odd statuses, sessions and streams cost the good servers nothing', { concurrency: 2 }, () => {
  for (let batch = 0; batch < BATCHES; batch++)
    test(`${batch + 1} of ${BATCHES}`, async t => {
      const bad = VARIANTS.slice(batch * BATCH, (batch + 1) * BATCH)
      const servers = Object.fromEntries(bad.map((variant, index) => [`bad${index}`, serverOf(variant)]))
      const { peers } = await startMalformed(t, { servers })

      for (const [peer, { tools }] of await peers.useGood())
        for (const [index, { step, name }] of bad.entries())
          if (step === 'tools/call' || step === 'GET')
            assert.ok(
              tools.some(tool => tool.name === `bad${index}__work`),
              `${peer}: no tool of a server with ${name}`,
            )
      await peers.each(async client => {
        for (const [index, { step }] of bad.entries())
          if (step === 'tools/call') await client.callTool({ name: `bad${index}__work` }).catch(() => undefined)
      })
      await peers.useGood()
    })
})

test('servers that hang in any step cost the good servers nothing', async t => {
  const hanging: RawServer[] = [
    () => undefined,
    (_request, response) => void response.writeHead(200, HEADERS).write('{"jsonrpc":'),
    (_request, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hi\n\n'),
  ]
  const bad = STEPS.flatMap(step => hanging.map(answer => serverOf({ name: 'hangs', step, answer })))
  const servers = Object.fromEntries(bad.map((server, index) => [`bad${index}`, server]))
  const config = { lists: { grace: '300ms', wait: '100ms' } }
  const { peers } = await startMalformed(t, { servers, config, settle: false })

  await peers.useGood()
  await peers.useGood()
})
