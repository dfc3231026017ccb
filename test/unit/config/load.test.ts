import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { describeOrigins, loadConfig } from '../../../src/config/index.ts'
import { GatewayError } from '../../../src/errors/errors.ts'
import { directoryWith, linesOf, load } from './temp.ts'

const WEB = 'listeners: { pipe: { type: stdio } }\nupstreams:\n  web: { type: http, url: https://example.com }\n'
const code = (expected: string) => (thrown: unknown) => thrown instanceof GatewayError && thrown.code === expected

test('a small file gets every default, and nothing of it can be changed', async t => {
  const { config, warnings } = await load(t, { 'gateway.yaml': WEB })

  assert.deepEqual(warnings, [])
  assert.deepEqual(config.cache, {
    lists: '5m',
    maxEntries: 10_000,
    maxBytes: '64MiB',
  })
  assert.deepEqual(config.lists, { pageSize: 1000, grace: '10s', wait: '1s' })
  assert.deepEqual(config.upstreams.web, {
    type: 'http',
    url: 'https://example.com',
    headers: {},
    http2: false,
    maxReply: '16MiB',
    enabled: true,
    startupTimeout: '30s',
    timeout: '60s',
    limits: { concurrency: 200, queue: 1024, queueTimeout: 0 },
    breaker: { failures: 5, open: '30s' },
    retry: { attempts: 2, backoff: '100ms', tools: [] },
    onFailure: 'omit',
    era: 'match',
    isolation: 'shared',
    start: 'auto',
  })
  assert.throws(() => Object.assign(config.upstreams, { more: {} }), TypeError)
  assert.throws(() => Object.assign(config.lists, { pageSize: 1 }), TypeError)
})

test('a config is found from a directory below', async t => {
  const home = directoryWith(t, { 'gateway.yml': WEB, 'a/b/readme.txt': '' })

  const { file, directory } = await loadConfig({ cwd: join(home, 'a/b'), environment: { HOME: home } })

  assert.equal(file, join(home, 'gateway.yml'))
  assert.equal(directory, home)
})

test('gateway.yaml comes before gateway.json, and JSON is read as well', async t => {
  const json =
    '{\n\t"listeners": { "pipe": { "type": "stdio" } },\n\t"upstreams": { "a": { "type": "stdio", "command": "npx" } }\n}'

  assert.match((await load(t, { 'gateway.json': json, 'gateway.yaml': WEB })).file ?? '', /gateway\.yaml$/)
  assert.deepEqual(Object.keys((await load(t, { 'gateway.json': json })).config.upstreams), ['a'])
})

for (const [what, text] of Object.entries({
  'without a byte': '',
  'of comments alone': '# one day\n# more\n',
  'that says null': 'null\n',
  'with a document mark alone': '---\n',
  'of an empty map': '{}\n',
})) {
  test(`a file ${what} is refused as empty, be it the configuration, its overlay or its base`, async t => {
    const empty = /the file is empty – start with "version: 1"$/
    const full = `extends: base.yaml\n${WEB}`

    const own = await linesOf(t, { 'gateway.yaml': text })
    const overlay = await linesOf(t, { 'gateway.yaml': WEB, 'gateway.prod.yaml': text }, { env: 'prod' })
    const base = await linesOf(t, { 'gateway.yaml': full, 'base.yaml': text })

    for (const lines of [own, overlay, base]) {
      assert.equal(lines.length, 1)
      assert.match(lines[0] ?? '', empty)
    }
  })
}

test('no config at all, or one that cannot be read, is an error of its own', async t => {
  const home = directoryWith(t, {})
  const options = { cwd: home, environment: { HOME: home } }

  await assert.rejects(loadConfig(options), code('GW_CONFIG_NOT_FOUND'))
  await assert.rejects(loadConfig({ ...options, file: 'none.yaml' }), code('GW_CONFIG_UNREADABLE'))
  await assert.rejects(loadConfig({ ...options, file: '.' }), code('GW_CONFIG_UNREADABLE'))
})

test('looking for a config runs no code that lies in the directory', t => {
  const run = 'require("node:fs").writeFileSync("ran", "")\nmodule.exports = {}\n'
  const directory = realpathSync(
    directoryWith(t, {
      '.config/config.js': run,
      '.config/config.cjs': run,
      'gateway.config.js': run,
      '.gatewayrc.js': run,
      'gateway.yaml': WEB,
    }),
  )
  const module = new URL('../../../src/config/index.ts', import.meta.url).href
  const script = `const { loadConfig } = await import(${JSON.stringify(module)})
    const { file } = await loadConfig({ cwd: process.cwd(), environment: { HOME: process.cwd() } })
    process.stdout.write(file)`

  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: directory,
    encoding: 'utf8',
  })

  assert.equal(stdout, join(directory, 'gateway.yaml'), stderr)
  assert.equal(existsSync(join(directory, 'ran')), false)
})

test('later bases win over earlier ones, and the file over all of them', async t => {
  const { config, files } = await load(t, {
    'gateway.yaml': 'extends: [./base.yaml, sub/team.yaml]\nlog: { level: error }\n',
    'base.yaml': `${WEB}log: { level: debug, format: json }\nlists: { pageSize: 7 }\n`,
    'sub/team.yaml': 'extends: ./deep.yaml\nlists: { pageSize: 8 }\n',
    'sub/deep.yaml': 'lists: { pageSize: 9, grace: 1s }\nshutdown: { grace: 2s }\n',
  })

  assert.deepEqual(config.log, { level: 'error', format: 'json' })
  assert.deepEqual(config.lists, { pageSize: 8, grace: '1s', wait: '1s' })
  assert.equal(config.shutdown.grace, '2s')
  assert.equal('extends' in config, false)
  assert.equal(files.length, 4)
})

test('files that extend each other in a circle are an error', async t => {
  const lines = await linesOf(t, {
    'gateway.yaml': 'extends: a.yaml\n',
    'a.yaml': 'version: 1\nextends: [gateway.yaml]\n',
  })

  assert.deepEqual(lines, ['a.yaml:2:11 /extends "<dir>/gateway.yaml" extends itself – remove the circular reference'])
})

test('a base that is missing, or mistaken, is named with its place', async t => {
  const missing = await linesOf(t, { 'gateway.yaml': 'version: 1\nextends:\n  - none.yaml\n  - 7\n' })
  const gone = await linesOf(t, { 'gateway.yaml': 'version: 1\nextends:\n  - none.yaml\n' })
  const bad = await linesOf(t, { 'gateway.yaml': 'extends: base.yaml\n', 'base.yaml': `${WEB}\nlogs: {}\n` })

  assert.deepEqual(missing, ['gateway.yaml:3:3 /extends expected a file name or a list of them'])
  assert.deepEqual(gone, ['gateway.yaml:3:5 /extends cannot read <dir>/none.yaml: no such file'])
  assert.deepEqual(bad, ['base.yaml:5:1 /logs unknown key "logs" – did you mean "log"?'])
})

test('an environment lays its own file on top', async t => {
  const files = {
    'gateway.yaml': WEB,
    'gateway.prod.yaml': 'upstreams: { web: { timeout: 5s }, more: { type: stdio, command: npx } }\n',
  }

  const asked = await load(t, files, { env: 'prod' })
  const fromVariable = await load(t, files, { environment: { GATEWAY_ENV: 'prod' }, file: 'gateway.yaml' })
  const without = await load(t, files)

  assert.equal(asked.config.upstreams.web?.timeout, '5s')
  assert.deepEqual(Object.keys(fromVariable.config.upstreams), ['web', 'more'])
  assert.deepEqual(Object.keys(without.config.upstreams), ['web'])
})

test('an environment without a file, or with a strange name, is an error', async t => {
  const [missing] = await linesOf(t, { 'gateway.yaml': WEB }, { env: 'prod' })
  const [strange] = await linesOf(t, { 'gateway.yaml': WEB }, { env: '../x' })

  assert.equal(
    missing,
    'gateway.yaml:1:1 no file for environment "prod" – searched for gateway.prod.yaml, gateway.prod.yml, gateway.prod.json in <dir>',
  )
  assert.match(strange ?? '', /invalid environment name "..\/x"/)
})

test('null in an overlay removes, a list replaces, and a map put back begins anew', async t => {
  const { config } = await load(
    t,
    {
      'gateway.yaml': `${WEB}  old: { type: stdio, command: npx, args: [a, b], timeout: 1s }\n  gone: { type: stdio, command: npx }\n`,
      'gateway.prod.yaml': 'extends: common.yaml\nupstreams: { old: { args: [c] } }\n',
      'common.yaml': 'upstreams: { gone: null, old: { timeout: null } }\n',
    },
    { env: 'prod' },
  )

  assert.deepEqual(Object.keys(config.upstreams), ['web', 'old'])
  assert.deepEqual((config.upstreams.old as { args: unknown }).args, ['c'])
  assert.equal(config.upstreams.old?.timeout, '60s')
})

test('--set wins over every file, reads its value as YAML, and removes with null', async t => {
  const { config } = await load(
    t,
    { 'gateway.yaml': `${WEB}sessionHeaders: { upstreams: [web] }\n` },
    {
      set: [
        'upstreams.web.timeout=5s',
        'lists.pageSize=5',
        'routes=[{ match: { tool: a }, to: web }]',
        'sessionHeaders=',
        '/upstreams/web/headers/X.Y=a=b',
      ],
    },
  )

  assert.equal(config.upstreams.web?.timeout, '5s')
  assert.equal(config.lists.pageSize, 5)
  assert.deepEqual(config.routes, [{ match: { tool: 'a' }, to: 'web' }])
  assert.equal(config.sessionHeaders, undefined)
  assert.deepEqual((config.upstreams.web as { headers: unknown }).headers, { 'X.Y': 'a=b' })
})

test('mistakes in --set are told as such', async t => {
  const set = ['nonsense', 'a..b=1', 'lists.pageSize=many', 'log=[1', 'upstreams.web.tiemout=1s']
  const first = await linesOf(t, { 'gateway.yaml': WEB }, { set: set.slice(0, 4) })
  const second = await linesOf(t, { 'gateway.yaml': WEB }, { set: set.slice(4) })

  assert.match(first.join('\n'), /--set invalid setting "nonsense"/)
  assert.match(first.join('\n'), /--set invalid setting "a\.\.b"/)
  assert.match(first.join('\n'), /--set \/log Flow sequence/)
  assert.deepEqual(second, ['--set /upstreams/web/tiemout unknown key "tiemout" – did you mean "timeout"?'])
})

test('every value knows where it came from', async t => {
  const cwd = directoryWith(t, {
    'gateway.yaml': 'extends: base.yaml\nlists:\n  pageSize: 7\n',
    'base.yaml': WEB,
    'gateway.prod.yaml': 'log: { level: debug }\n',
  })
  const loaded = await loadConfig({ cwd, env: 'prod', set: ['lists.grace=1s'], environment: { HOME: cwd } })

  const origins = new Map(describeOrigins(loaded, cwd).map(({ pointer, origin }) => [pointer, origin]))

  assert.equal(origins.get('/lists/pageSize'), 'gateway.yaml:3:13')
  assert.equal(origins.get('/upstreams/web/url'), 'base.yaml:3:27')
  assert.equal(origins.get('/log/level'), 'gateway.prod.yaml:1:15')
  assert.equal(origins.get('/lists/grace'), '--set')
  assert.equal(origins.get('/log/format'), 'default')
})

test('anchors, aliases and merge keys work, own keys winning', async t => {
  const { config } = await load(t, {
    'gateway.yaml': `
listeners: { pipe: { type: stdio } }
upstreams:
  one: &one { type: http, url: https://one.example, timeout: 1s, headers: &h { A: a } }
  two: { <<: *one, url: https://two.example }
  three: { <<: [{ timeout: 2s }, *one], headers: *h }
`,
  })

  assert.equal(config.upstreams.two?.timeout, '1s')
  assert.equal((config.upstreams.two as { url: string }).url, 'https://two.example')
  assert.equal(config.upstreams.three?.timeout, '2s')
})
