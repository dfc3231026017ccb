import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cleanup } from './fixtures/cleanup.ts'
import { ROOT } from './guard/sources.ts'

const MOVED = ['cache', 'rate-limit', 'policy']
const LIBRARIES = ['@marcbachmann', 're2js']
const PROGRAM = `
import { testClient, testGateway, testUpstream } from 'tapgate/testing'
import { cache } from './plugins/cache/index.ts'
import { policy } from './plugins/policy/index.ts'
import { rateLimit } from './plugins/rate-limit/index.ts'

let reads = 0
const web = await testUpstream({ tools: { read: () => 'read ' + ++reads, drop: () => 'dropped' } })
const gateway = await testGateway({
  upstreams: { web },
  plugins: [cache, policy, rateLimit],
  config: {
    upstreams: { web: { cache: { tools: { read: '1h' } } } },
    policy: { deny: [{ for: 'web__drop', when: 'upstream.name == "web" && !has(args.sure)', name: 'no-drops' }] },
    rateLimit: { rules: { three: { tools: 'web__read', perMinute: 3 } } },
  },
})
const client = await testClient(gateway)
const call = async name => {
  const { result, error } = await client.request('tools/call', { name, arguments: {} })
  return error?.message ?? result.content[0].text
}
const answers = []
for (const name of ['web__read', 'web__read', 'web__drop', 'web__read', 'web__read']) answers.push(await call(name))
console.log(JSON.stringify({ answers, reads }))
process.exit()
`

test('three built-in plugins work from a package outside, which imports only tapgate/plugin', t => {
  const home = mkdtempSync(join(tmpdir(), 'gateway-outside-'))
  cleanup(t, () => rmSync(home, { recursive: true, force: true }))
  for (const name of MOVED) cpSync(join(ROOT, 'plugins', name), join(home, 'plugins', name), { recursive: true })
  for (const file of globSync('plugins/**/*.ts', { cwd: home })) {
    const text = readFileSync(join(home, file), 'utf8').replace(/'(?:\.\.\/)+src\/plugin\.ts'/g, "'tapgate/plugin'")
    assert.doesNotMatch(text, /from '\.\.\/\.\.\/(?:src|plugins|\w)/, file)
    writeFileSync(join(home, file), text)
  }
  mkdirSync(join(home, 'node_modules'))
  symlinkSync(ROOT, join(home, 'node_modules/tapgate'), 'junction')
  for (const name of LIBRARIES)
    symlinkSync(join(ROOT, 'node_modules', name), join(home, 'node_modules', name), 'junction')
  writeFileSync(join(home, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(home, 'main.ts'), PROGRAM)

  const { stdout, stderr } = spawnSync(process.execPath, ['main.ts'], { cwd: home, encoding: 'utf8' })

  const { answers, reads } = JSON.parse(stdout.trim() || `{"answers":[${JSON.stringify(stderr)}]}`) as {
    readonly answers: readonly string[]
    readonly reads: number
  }
  assert.deepEqual(answers.slice(0, 2), ['read 1', 'read 1'])
  assert.match(String(answers[2]), /no-drops/)
  assert.equal(answers[3], 'read 1')
  assert.match(String(answers[4]), /three/)
  assert.equal(reads, 1)
})
