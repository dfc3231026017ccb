// The gateway of the pictures: people with names, servers of every state, calls that went well and badly, a call that waits, a login, a task.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, type TestClient, testUpstream } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { CALL, linkIn, loggedIn, setting } from '../../unit/plugins/oauth/connect/setting.ts'

const AGENT = fileURLToPath(new URL('../../fixtures/acp/agent.ts', import.meta.url))
const MEMORY = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-memory/dist/index.js'))
const FORMS = { elicitation: { form: {} } }

const text = (description: string): JsonObject => ({ type: 'string', description })

const CREATE = {
  ...{ name: 'create', title: 'Create a ticket', description: 'Files a ticket for a team.' },
  inputSchema: {
    type: 'object',
    properties: {
      title: text('One line that says what is wrong.'),
      priority: { type: 'string', enum: ['low', 'normal', 'high'], default: 'normal' },
      due: { type: 'string', format: 'date', description: 'When it must be done.' },
      estimate: { type: 'integer', minimum: 1, maximum: 40, description: 'Hours.' },
      labels: { type: 'array', items: { type: 'string' } },
      notify: { type: 'boolean', default: true },
    },
    required: ['title'],
  },
}

const one = (name: string, description: string, properties: JsonObject = {}): JsonObject => ({
  ...{ name, description },
  inputSchema: { type: 'object', properties },
})

const TICKETS = [
  CREATE,
  one('find', 'Finds tickets by words, newest first.', { query: text('Words.'), limit: { type: 'integer' } }),
  one('close', 'Closes a ticket for good.', { id: text('Number of the ticket.') }),
  one('export', 'Writes all tickets of a year into one file.', { year: { type: 'integer' } }),
]

const WEB = [
  one('search', 'Searches the web.', { query: text('What to look for.') }),
  one('fetch', 'Reads one page of the web.', { url: { type: 'string', format: 'uri' } }),
]

/** A link to the page of a gateway that has been used for a while. */
export async function exampleGateway(t: TestContext): Promise<() => Promise<string>> {
  const directory = await mkdtemp(join(tmpdir(), 'example-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  const tickets = closeAfter(t, await ticketServer())
  const web = closeAfter(t, await webServer())
  const made = await setting(t, {
    upstreams: {
      tickets: { type: 'http', url: tickets.url },
      web: { type: 'http', url: web.url },
      archive: { type: 'http', url: 'http://127.0.0.1:9/mcp' },
      memory: { type: 'stdio', command: process.execPath, args: [MEMORY] },
    },
    policy: {
      ask: [{ for: 'tickets__close', when: 'true', name: 'closes tickets' }],
      deny: [{ for: 'tickets__create', when: 'principal.subject == "carol"', name: 'guests only look' }],
    },
    approve: { by: ['owner'] },
    shape: { patience: 200 },
    ui: { values: ['tickets__find'] },
    agents: {
      roots: [directory],
      list: {
        ada: {
          title: 'Ada',
          command: process.execPath,
          args: ['--disable-warning=ExperimentalWarning', AGENT],
        },
      },
    },
  })
  const client = (subject: string, name: string, era: 'modern' | 'legacy'): Promise<TestClient> =>
    made.client(subject, { era, capabilities: FORMS, info: { name, version: '2.4.1' } })
  const alice = await client('alice', 'Claude Code', 'modern')
  const bob = await client('bob', 'Cursor', 'legacy')
  const carol = await client('carol', 'Codex', 'modern')
  await use(alice, bob, carol)
  await logIn(made, alice)
  await made.gateway.gateway.control('upstream.stop', { upstream: 'memory' })
  return async () => String((await made.gateway.gateway.control('ui.link')).url)
}

type Made = Awaited<ReturnType<typeof setting>>

/** Alice lets the gateway speak for her at “files”. */
async function logIn(made: Made, alice: TestClient): Promise<void> {
  const { result } = await alice.request('tools/call', CALL)
  await loggedIn(made, linkIn(result), 'alice')
}

/** A working day, in a moment. */
async function use(alice: TestClient, bob: TestClient, carol: TestClient): Promise<void> {
  const call = (by: TestClient, name: string, args: JsonObject = {}): ReturnType<TestClient['request']> =>
    by.request('tools/call', { name, arguments: args })
  for (const by of [alice, bob, carol]) await by.request('tools/list', {})
  await throughTheHour(async minute => {
    for (const by of [alice, bob]) {
      for (let again = 0; again <= (minute * 7) % 5; again++) await call(by, 'web__search', { query: 'releases' })
      await call(by, 'tickets__find', { query: 'login page', limit: 5 })
    }
    if (minute % 9 === 0) await call(bob, 'web__fetch', { url: 'https://example.com/gone' })
  })
  await call(alice, 'tickets__create', { title: 'The login page is slow', priority: 'high' })
  await call(carol, 'tickets__create', { title: 'Free phones' })
  await call(bob, 'web__fetch', { url: 'https://example.com/gone' })
  await call(alice, 'tickets__export', { year: 2026 })
  await call(alice, 'delegate_task', {
    prompt:
      '[[plan Read the report;Mend the page]][[say I have read the report. The page asks the server twice.]][[elicit Which branch?]]',
    background: true,
  })
  // Waits until somebody decides.
  void call(bob, 'tickets__close', { id: 'T-1042' }).catch(() => undefined)
  await call(bob, 'tickets__find', { query: 'login page', limit: 5 })
}

/** Does a thing as if it were each minute of the last hour: the wall clock is set back for that long, and no timer is. */
async function throughTheHour(act: (minute: number) => Promise<void>): Promise<void> {
  const { now } = Date
  try {
    for (let minute = 55; minute >= 0; minute--) {
      Date.now = () => now() - minute * 60_000
      await act(minute)
    }
  } finally {
    Date.now = now
  }
}

function ticketServer(): ReturnType<typeof testUpstream> {
  const found = [
    { id: 'T-1042', title: 'The login page is slow' },
    { id: 'T-998', title: 'Login asks twice' },
  ]
  return testUpstream({
    ...{ name: 'tickets', version: '3.2.0', capabilities: { tools: {} } },
    methods: {
      'tools/list': () => ({ tools: TICKETS, ttlMs: 3_600_000, cacheScope: 'public' }),
      'tools/call': async params => {
        if (params?.name === 'export') await new Promise(resolve => setTimeout(resolve, 60_000).unref())
        await new Promise(resolve => setTimeout(resolve, 12))
        return { content: [{ type: 'text', text: JSON.stringify(found) }], structuredContent: { found } }
      },
    },
  })
}

function webServer(): ReturnType<typeof testUpstream> {
  const gone = { content: [{ type: 'text', text: 'the site answered 410' }], isError: true }
  return testUpstream({
    ...{ name: 'web', version: '1.9.3', capabilities: { tools: {} } },
    methods: {
      'tools/list': () => ({ tools: WEB, ttlMs: 3_600_000, cacheScope: 'public' }),
      'tools/call': params =>
        params?.name === 'fetch' ? gone : { content: [{ type: 'text', text: 'Release 2.4 of June' }] },
    },
  })
}
