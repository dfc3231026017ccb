import { test } from 'node:test'
import { type RawRequest, rawServer, type RawServer, startMalformed } from '../../../fixtures/malformed-upstream.ts'

/** Every step of a conversation that a fault may hit. */
const STEPS = ['server/discover', 'initialize', 'notifications/initialized', 'GET', 'lists', 'tools/call'] as const
type Step = (typeof STEPS)[number]

const HEADERS = { 'content-type': 'application/json' }

const TOOLS = { tools: [{ name: 'work', inputSchema: { type: 'object' } }] }
const EMPTY: Readonly<Record<string, unknown>> = {
  'tools/list': TOOLS,
  'prompts/list': { prompts: [] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
}

const fine = rawServer(method => EMPTY[method])

/** A legacy server with a session that does all well but one step. */
function serverOf(step: Step, answer: RawServer): RawServer {
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

test('servers that hang in any step cost the good servers nothing', async t => {
  const hanging: RawServer[] = [
    () => undefined,
    (_request, response) => void response.writeHead(200, HEADERS).write('{"jsonrpc":'),
    (_request, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hi\n\n'),
  ]
  const bad = STEPS.flatMap(step => hanging.map(answer => serverOf(step, answer)))
  const servers = Object.fromEntries(bad.map((server, index) => [`bad${index}`, server]))
  const config = { lists: { grace: '300ms', wait: '100ms' } }
  const { peers } = await startMalformed(t, { servers, config, settle: false })

  await peers.useGood()
  await peers.useGood()
})
