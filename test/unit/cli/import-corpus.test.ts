import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, extname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { importServers, type ImportResult } from '../../../src/cli/servers/import.ts'
import { readSettings } from '../../../src/cli/servers/formats.ts'
import { isObject, type JsonObject } from '../../../src/protocol/json/json.ts'

const CORPUS = join(import.meta.dirname, '../../fixtures/client-corpus')
const OPTIONS = {
  output: 'gateway.yaml',
  force: false,
  dryRun: true,
  remote: 'https://tools.example.com/mcp',
}
/** All that says the same as nothing. */
const DEFAULTS: Readonly<Record<string, (value: unknown) => boolean>> = {
  type: value =>
    ['stdio', 'local', 'remote', 'http', 'streamable-http', 'streamable_http', 'streamableHttp', 'sse', 'ws'].includes(
      String(value),
    ),
  transport: value => ['stdio', 'http', 'streamable-http'].includes(String(value)),
  enabled: value => value === true,
  disabled: value => value === false,
  tools: value => Array.isArray(value) && value.includes('*'),
}

const directory = mkdtempSync(join(tmpdir(), 'corpus-'))
after(() => rmSync(directory, { recursive: true }))

/** All that a list of servers becomes. */
function imported(settings: JsonObject, name: string): Promise<ImportResult> {
  const file = join(directory, `${basename(name, extname(name))}.json`)
  writeFileSync(file, JSON.stringify(settings))
  return importServers({ ...OPTIONS, files: [file], cwd: directory })
}

/** Every map of servers, or list of them, in a client's settings. */
function serversIn(value: unknown): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(serversIn)
  if (!isObject(value)) return []
  const isServer = ['command', 'cmd', 'url', 'uri', 'serverUrl', 'httpUrl'].some(key => key in value)
  // Servers of other projects are named as a whole.
  const inner = Object.entries(value).filter(([key]) => key !== 'projects')
  return isServer ? [value] : inner.flatMap(([, one]) => serversIn(one))
}

function isNothing(key: string, value: unknown): boolean {
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
  return isEmpty || value === null || (Object.hasOwn(DEFAULTS, key) && DEFAULTS[key]?.(value) === true)
}

/** The keys of one server that are neither in what was written nor named to the user. */
async function lostOf(settings: JsonObject, server: JsonObject, name: string): Promise<string[]> {
  const whole = await imported(settings, name)
  const lost: string[] = []
  for (const [key, value] of Object.entries(server)) {
    if (isNothing(key, value)) continue
    Reflect.deleteProperty(server, key)
    const without = await imported(settings, name).catch(() => undefined)
    server[key] = value
    const isNamed = whole.notes.some(note => note.includes(`"${key}"`)) || whole.left.includes(key)
    if (!isNamed && without?.text === whole.text) lost.push(key)
  }
  return lost
}

describe('settings of real clients', () => {
  const files = readdirSync(CORPUS)

  it('are sixty files or more, of twelve clients or more', () => {
    assert.ok(files.length >= 60, String(files.length))
    assert.ok(new Set(files.map(file => file.replace(/-\d+\.\w+$/, ''))).size >= 12)
  })

  for (const name of files)
    it(`lose no key: ${name}`, async () => {
      const settings = await readSettings(join(CORPUS, name))
      const servers = serversIn(settings)
      assert.ok(servers.length > 0)
      for (const server of servers) assert.deepEqual(await lostOf(settings, server, name), [])
    })
})

it('a bearer token of Codex stays where other headers are, whichever comes first', async () => {
  const token = { bearer_token_env_var: 'WEB_TOKEN' }
  const headers = { http_headers: { 'X-Team': 'blue' }, env_http_headers: { 'X-Trace': 'TRACE' } }
  const url = { url: 'https://web.example.com/mcp' }
  for (const server of [
    { ...url, ...token, ...headers },
    { ...headers, ...token, ...url },
  ]) {
    const { text } = await imported({ mcp_servers: { web: server } }, 'order')
    for (const line of ['Authorization: Bearer ${WEB_TOKEN}', 'X-Team: blue', 'X-Trace: ${TRACE}'])
      assert.ok(text.includes(line), text)
  }
})
