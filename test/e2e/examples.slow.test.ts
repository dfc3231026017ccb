import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { loadConfig } from '../../src/config/index.ts'
import type { JsonObject } from '../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestClient } from '../../src/testing/index.ts'
import { skip as skipSandbox } from '../fixtures/sandbox.ts'
import { cleanup } from '../fixtures/cleanup.ts'

const ROOT = join(import.meta.dirname, '../..')
const EXAMPLES = join(ROOT, 'examples')
const { PATH, SystemRoot } = process.env

interface Run {
  readonly example: string
  readonly env?: string
  /** Variables that point at the test upstream. */
  readonly remote?: readonly string[]
  /** Legacy where servers keep state for each session: single modern requests are offered that. */
  readonly era?: 'legacy'
  /** Why it cannot run on this machine. */
  readonly skip?: string | false
  readonly calls: readonly (readonly [tool: string, args: JsonObject, answers: RegExp])[]
}

const ENTITY = { name: 'Cached', entityType: 'thing', observations: ['kept'] }
const HI = { message: 'hi' }
const NOTE = 'A note that the server may change.\n'

const RUNS: readonly Run[] = [
  {
    example: 'quickstart',
    calls: [
      ['files__read_text_file', { path: 'hello.md' }, /# Hello/],
      ['everything__echo', HI, /Echo: hi/],
      ['memory__read_graph', {}, /entities/],
    ],
  },
  {
    example: 'wrap-a-server',
    calls: [
      ['read_graph', {}, /entities/],
      ['delete_entities', {}, /Unknown tool: delete_entities/],
    ],
  },
  {
    example: 'caching',
    remote: ['DOCS_URL'],
    calls: [
      ['memory__read_graph', {}, /^(?!.*Cached).*entities/s],
      ['memory__create_entities', { entities: [ENTITY] }, /Cached/],
      ['memory__read_graph', {}, /Cached/],
      ['memory__delete_entities', { entityNames: ['Cached'] }, /./],
      ['memory__read_graph', {}, /^(?!.*Cached).*entities/s],
    ],
  },
  { example: 'environments', calls: [['memory__read_graph', {}, /entities/]] },
  {
    example: 'environments',
    env: 'prod',
    remote: ['SEARCH_URL'],
    calls: [['search__who', {}, /"authorization":"Bearer token"/]],
  },
  {
    example: 'server-processes',
    era: 'legacy',
    calls: [
      ['files__read_text_file', { path: 'README.md' }, /# Server processes/],
      ['memory__read_graph', {}, /entities/],
      ['everything__echo', HI, /Echo: hi/],
    ],
  },
  {
    example: 'filter-and-rename',
    calls: [
      ['files__read', { path: 'README.md' }, /# Filter and rename/],
      ['echo', HI, /Echo: hi/],
      ['files__write_file', {}, /Unknown tool: files__write_file/],
      ['everything__get-env', {}, /Unknown tool: everything__get-env/],
    ],
  },
  {
    example: 'surface',
    calls: [
      ['search_tools', { query: 'write text to a file' }, /files__write_file\(path: string, content: string\)/],
      ['call_tool', { name: 'everything__echo', arguments: HI }, /Echo: hi/],
      ['call_read_tool', { name: 'files__write_file' }, /is not marked as read-only/],
      ['files__read_text_file', { path: 'README.md' }, /# Surface/],
    ],
  },
  { example: 'fit', calls: [['reference-server-for-everything__echo', HI, /Echo: hi/]] },
  {
    example: 'shape',
    calls: [
      ['everything__get-structured-content', { location: 'New York' }, /"sky":"\w+","celsius":\d+/],
      ['everything__get-structured-content', { location: 'New York', _pick: 'humidity' }, /^\D*82\D*$/],
      ['docs__read_text_file', { path: 'tools.md' }, /read_result/],
    ],
  },
  {
    example: 'routing',
    calls: [
      ['echo', HI, /Echo: hi/],
      ['memory__delete_entities', {}, /Deleting memories is not allowed here/],
    ],
  },
  {
    example: 'session-headers',
    remote: ['MEMORY_URL', 'WEATHER_URL'],
    calls: [
      ['memory__who', {}, /"x-session-id":"client-/],
      ['weather__who', {}, /^((?!x-session-id).)*$/],
    ],
  },
  {
    example: 'remote',
    remote: ['SEARCH_URL'],
    calls: [['search__who', {}, /"authorization":"Bearer token"/]],
  },
  {
    example: 'resilience',
    remote: ['SEARCH_URL'],
    calls: [
      ['search__who', {}, /"host"/],
      ['memory__read_graph', {}, /entities/],
    ],
  },
  {
    example: 'sandbox',
    skip: skipSandbox,
    calls: [
      ['notes__write_file', { path: 'notes/today.md', content: NOTE }, /Successfully wrote/],
      ['notes__write_file', { path: 'README.md', content: 'gone' }, /EROFS|read-only|EACCES/],
      ['notes__read_text_file', { path: 'README.md' }, /# Sandbox/],
      ['notes__read_text_file', { path: 'gateway.yaml' }, /ENOENT/],
    ],
  },
  {
    example: 'observability',
    calls: [
      ['memory__search_nodes', { query: 'nothing' }, /entities/],
      ['memory__read_graph', {}, /entities/],
    ],
  },
  { example: 'websocket', calls: [['memory__read_graph', {}, /entities/]] },
  { example: 'rest', era: 'legacy', calls: [['memory__read_graph', {}, /entities/]] },
  {
    example: 'write-a-plugin',
    calls: [['everything__echo', { message: 'my password is hunter2' }, /my password is •••/]],
  },
]

describe('examples', { concurrency: 4 }, () => {
  for (const run of RUNS) {
    const { example, env, era, remote = [], skip = false, calls } = run
    test(`examples/${example}${env === undefined ? '' : ` --env ${env}`} does what it says`, { skip }, async t => {
      const who = (_args: JsonObject, { headers }: { headers: object }): string => JSON.stringify(headers)
      const web = closeAfter(t, await testUpstream({ tools: { who } }))
      const variables = Object.fromEntries(remote.map(name => [name, web.url]))
      const environment = { PATH, SystemRoot, SEARCH_TOKEN: 'token', ...variables }
      const set = ['listeners={"main":{"type":"http","port":0}}']
      const config = await loadConfig({
        cwd: join(EXAMPLES, example),
        file: 'gateway.yaml',
        env,
        set,
        environment,
      })
      const gateway = closeAfter(t, await testGateway({ config, environment }))
      const client = closeAfter(t, await testClient(gateway, era === undefined ? {} : { era }))

      for (const [tool, args, answers] of calls) assert.match(await called(client, tool, args), answers)
    })
  }

  test('the configuration of README.md can be pasted into any folder', async t => {
    const cwd = await mkdtemp(join(tmpdir(), 'pasted-'))
    cleanup(t, () => rm(cwd, { recursive: true }))
    const [, yaml = ''] = /```yaml\n([^]*?)```/.exec(await readFile(join(ROOT, 'README.md'), 'utf8')) ?? []
    await writeFile(join(cwd, 'gateway.yaml'), yaml)
    // The tests have no network: npx finds the packages here.
    await symlink(join(ROOT, 'node_modules'), join(cwd, 'node_modules'), 'junction')
    const set = ['listeners.main.port=0']
    const environment = { PATH, SystemRoot, HOME: cwd, npm_config_offline: 'true' }
    const config = await loadConfig({ cwd, file: 'gateway.yaml', set, environment })
    const gateway = closeAfter(t, await testGateway({ config, environment }))
    const client = closeAfter(t, await testClient(gateway))

    assert.match(await called(client, 'everything__get-sum', { a: 2, b: 3 }), /5/)
    assert.match(await called(client, 'files__list_directory', { path: '.' }), /gateway\.yaml/)
  })

  test('examples/access lets a key in, hides what it may not use, and stops a guest', async t => {
    const cwd = join(EXAMPLES, 'access')
    const state = await mkdtemp(join(tmpdir(), 'access-'))
    cleanup(t, () => rm(state, { recursive: true }))
    const set = ['listeners.main.port=0', `rateLimit.state=${state}`]
    const environment = { PATH, SystemRoot }
    const config = await loadConfig({ cwd, file: 'gateway.yaml', set, environment })
    const gateway = closeAfter(t, await testGateway({ config, environment }))
    const as = async (key: string): Promise<TestClient> =>
      closeAfter(t, await testClient(gateway, { headers: { authorization: `Bearer ${key}` } }))
    const ci = await as('gwk_only-for-this-example')
    const guest = await as('gwk_guest-of-this-example')

    assert.match(await called(ci, 'everything__echo', HI), /Echo: hi/)
    assert.match(await called(ci, 'everything__get-env', {}), /requires the scope env/)
    for (let i = 0; i < 3; i++) assert.match(await called(guest, 'everything__echo', HI), /Echo: hi/)
    assert.match(await called(guest, 'everything__echo', HI), /rule "guests" allows 3 per minute/)
    assert.equal((await fetch(gateway.url, { method: 'POST' })).status, 401)
  })

  test('examples/embed runs to its end', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(EXAMPLES, 'embed/embed.ts')], {
      env: { PATH, SystemRoot },
    })

    assert.match(stdout, /The sum of 2 and 40 is 42/)
    const states = ['stopped', 'starting', 'ready'].map(state => `everything is ${state}\n`).join('')
    assert.ok(stdout.includes(`-32602 Unknown tool: everything__nothing\nready\n${states}`), stdout)
    assert.match(stdout, /\[\{"name":"main","type":"http","url":"http:[^"]+"\}\]\necho\n$/)
  })
})

async function called(client: TestClient, name: string, args: JsonObject): Promise<string> {
  const { result, error } = await client.request('tools/call', { name, arguments: args })
  const content = result?.content as { text?: string }[] | undefined
  return error?.message ?? content?.[0]?.text ?? ''
}
