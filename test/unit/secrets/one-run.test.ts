import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway } from '../../../src/testing/index.ts'
import { script } from '../fixtures/upstream-bench.ts'
import { ENCODINGS, secretsOf } from './encodings.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

const SECRETS = secretsOf(200, 17)
const CRASHES = [0, 77, 199]

test('200 secrets in 13 encodings are nowhere to be read after one run: success, errors, crashes, a reload', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'one-run-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  const forms = SECRETS.map(secret => Object.values(ENCODINGS).map(encode => encode(secret)))
  await writeFile(join(directory, 'forms.json'), JSON.stringify(forms))
  const env = Object.fromEntries(SECRETS.map((secret, n) => [`TOKEN_${n}`, secret]))
  const args = [script('leaking-server.mjs'), join(directory, 'forms.json')]
  const up = { type: 'stdio', command: process.execPath, args, env, breaker: false }
  const config = {
    version: 1,
    listeners: { main: { type: 'http', port: 0 } },
    metrics: {},
    audit: { file: join(directory, 'audit.jsonl'), methods: '*', values: '*' },
    upstreams: { up },
  }
  const gateway = closeAfter(t, await testGateway({ config, directory }))
  const client = closeAfter(t, await testClient(gateway))
  const call = async (tool: string, n: number): Promise<string> =>
    JSON.stringify(await client.request('tools/call', { name: `up__${tool}`, arguments: { n } }))

  const said: string[] = []
  for (let n = 0; n < SECRETS.length; n++) {
    said.push(await call('fine', n), await call('fail', n))
    if (n === 100) await gateway.gateway.reload({ ...config, upstreams: { up: { ...up, env: { ...env, MORE: 'x' } } } })
  }
  for (const n of CRASHES) said.push(await call('crash', n))
  const { upstreams } = gateway.gateway
  said.push(JSON.stringify([await gateway.gateway.control('ps'), await gateway.gateway.inspect()]))
  said.push(JSON.stringify(await gateway.gateway.control('inspect', { config: true })))
  said.push(JSON.stringify([...upstreams.values()].map(one => one.logs)))
  said.push(await (await fetch(new URL('/metrics', gateway.url))).text())
  await until(() => gateway.log.some(({ stream }) => stream === 'stderr'), 'it is logged')
  await gateway.gateway.close()
  for (const name of await readdir(directory))
    if (name.startsWith('audit')) said.push(await readFile(join(directory, name), 'utf8'))
  said.push(JSON.stringify(gateway.log))

  const all = said.join('\n')
  const found = forms.flat().filter(form => all.includes(form) || all.includes(JSON.stringify(form).slice(1, -1)))
  assert.deepEqual(found, [])
  assert.ok(all.includes('***'))
  assert.ok(said.filter(text => text.includes('fine')).length >= SECRETS.length)
})
