import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../../src/gateway/load-config.ts'
import { directory } from '../../e2e/cli/run.ts'

const CONFIG = `
version: 1
envFile: .env
upstreams:
  web: { type: http, url: 'https://\${HOST}/mcp', headers: { Authorization: 'Bearer \${TOKEN}' } }
  own: { type: stdio, command: node, envFile: own.env, env: { LEVEL: high } }
`

test('placeholders read variables of envFile and --env-file, and those of the environment win', async t => {
  const cwd = await directory(t, {
    'gateway.yaml': CONFIG,
    '.env': 'HOST=one.example\nTOKEN="a secret # value"\n',
    'own.env': 'LEVEL=low\nKEY=$literal\n',
    'more.env': 'HOST=two.example\n',
  })

  const read = (environment: Record<string, string>, envFiles: string[] = []) =>
    loadConfig({ cwd, environment, envFiles })
  const [plain, given, own] = await Promise.all([
    read({}),
    read({}, ['more.env']),
    read({ HOST: 'three.example' }, ['more.env']),
  ])

  const hosts = [plain, given, own].map(({ config }) => (config.upstreams.web as { url: string }).url)
  assert.deepEqual(hosts, ['https://one.example/mcp', 'https://two.example/mcp', 'https://three.example/mcp'])
  assert.ok(plain.secrets.includes('a secret # value'))
  assert.deepEqual((plain.config.upstreams.own as { env: object }).env, { LEVEL: 'high', KEY: '$literal' })
  assert.deepEqual(
    plain.files.map(file => file.slice(cwd.length + 1)),
    ['gateway.yaml', '.env', 'own.env'],
  )
})

test('a missing file is an error at its place, and is named for --env-file', async t => {
  const cwd = await directory(t, { 'gateway.yaml': CONFIG })

  const error = await loadConfig({ cwd, environment: { HOST: 'a', TOKEN: 'b' } }).catch((thrown: unknown) => thrown)
  const [problem] = (error as { fields: { problems: { line: number; message: string }[] } }).fields.problems
  assert.equal(problem?.line, 3)
  assert.match(problem.message, /^cannot read .*\.env: no such file/)
  await assert.rejects(
    loadConfig({ cwd, environment: {}, envFiles: ['no.env'] }),
    /cannot read --env-file no\.env: no such file/,
  )
})

test('an upstream without a type is one by its command or its URL, as in the settings of clients', async t => {
  const upstreams = { a: { command: 'node' }, b: { url: 'https://b.example/mcp' }, c: { url: 'ws://127.0.0.1:1/' } }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify({ version: 1, upstreams }) })

  const { config } = await loadConfig({ cwd, environment: {} })

  assert.deepEqual(
    Object.values(config.upstreams).map(({ type }) => type),
    ['stdio', 'http', 'ws'],
  )
})
