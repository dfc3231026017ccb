import assert from 'node:assert/strict'
import { test } from 'node:test'
import { directory, gateway } from './run.ts'

const GOOD = `version: 1
listeners: { main: { type: http, port: 0 }, pipe: { type: stdio } }
upstreams:
  one: { type: stdio, command: node, env: { TOKEN: hush-hush-hush } }
  two: { type: http, url: "http://127.0.0.1:9/mcp", prefix: "" }
`

test('help of a command shows its flags and an example', async () => {
  const [asked, flagged] = await Promise.all([gateway(['help', 'plugin', 'new']), gateway(['plugin', 'new', '-h'])])

  assert.match(asked.stdout, /--force/)
  assert.match(asked.stdout, /\$ gateway plugin new redact/)
  assert.equal(flagged.stdout, asked.stdout)
})

test('a mistyped command or flag is answered with what was probably meant', async () => {
  const [command, inner, flag] = await Promise.all([
    gateway(['serv', '--stdio']),
    gateway(['plugin', 'nwe']),
    gateway(['validate', '--confg', 'x']),
  ])

  assert.deepEqual([command.code, inner.code, flag.code], [2, 2, 2])
  assert.match(command.stderr, /^error GW_USAGE: unknown command "serv" – did you mean "serve"\?$/m)
  assert.match(inner.stderr, /did you mean "plugin new"\?/)
  assert.match(flag.stderr, /unknown flag --confg – did you mean "--config"\?/)
  assert.match(command.stderr, /^hint: /m)
})

test('with --json an error is one object on stdout, and stderr is empty', async () => {
  const { code, stdout, stderr } = await gateway(['call', '--json'])

  assert.equal(code, 2)
  assert.equal(stderr, '')
  assert.deepEqual(JSON.parse(stdout), {
    error: { code: 'GW_USAGE', message: 'missing: TOOL', hint: 'Run the command with --help.' },
  })
})

test('validate counts what a good configuration has', async t => {
  const cwd = await directory(t, { 'gateway.yaml': GOOD })

  const [text, json] = await Promise.all([gateway(['validate'], { cwd }), gateway(['validate', '--json'], { cwd })])

  assert.deepEqual([text.code, text.stderr], [0, ''])
  assert.match(text.stdout, /^gateway\.yaml is valid: 2 upstreams, 2 listeners, \d+ plugins\n$/)
  const { valid, upstreams, listeners } = JSON.parse(json.stdout) as Record<string, unknown>
  assert.deepEqual({ valid, upstreams, listeners }, { valid: true, upstreams: 2, listeners: 2 })
})

test('validate lists every problem with its place, and exits with 3', async t => {
  const cwd = await directory(t, {
    'gateway.yaml': 'version: 1\nupstreams:\n  files:\n    type: stdio\n    comand: npx\ncash: true\n',
  })

  const [text, json] = await Promise.all([gateway(['validate'], { cwd }), gateway(['validate', '--json'], { cwd })])

  assert.deepEqual([text.code, text.stdout, json.code], [3, '', 3])
  assert.match(text.stderr, /^ {2}gateway\.yaml:5:5 \/upstreams\/files\/comand .*did you mean "command"\?$/m)
  assert.match(text.stderr, /^ {2}gateway\.yaml:6:1 \/cash .*did you mean "cache"\?$/m)
  const { error } = JSON.parse(json.stdout) as { error: { code: string; problems: { pointer: string }[] } }
  assert.equal(error.code, 'GW_CONFIG_INVALID')
  assert.ok(error.problems.some(({ pointer }) => pointer === '/cash'))
})

test('validate loads plugins, and says like serve which one cannot be, and where', async t => {
  const cwd = await directory(t, {
    'gateway.yaml': `${GOOD}plugins: { broken: { use: ./broken.ts } }\n`,
    'broken.ts': 'export default {\n  setup() {\n    const words = ;\n  },\n}\n',
  })

  const [validated, served] = [await gateway(['validate'], { cwd }), await gateway(['serve'], { cwd })]

  assert.equal(validated.code, 3)
  assert.match(validated.stderr, /^error GW_PLUGIN_LOAD: plugin "broken" could not be loaded/)
  assert.match(validated.stderr, /^ {2}broken\.ts:3:19 \/plugins\/broken\/use SyntaxError: Expression expected$/m)
  assert.deepEqual([served.code, served.stderr], [validated.code, validated.stderr])
})

test('--env and --set go on top of the file', async t => {
  const cwd = await directory(t, {
    'gateway.yaml': GOOD,
    'gateway.prod.yaml': 'upstreams: { three: { type: http, url: "http://127.0.0.1:9/three" } }\n',
  })

  const { stdout } = await gateway(
    ['validate', '--env', 'prod', '--set', 'listeners.pipe=null', '--set', 'cache=false'],
    { cwd },
  )

  assert.match(stdout, /3 upstreams, 1 listener,/)
})

test('inspect --offline shows configuration, plugins and hooks, no secret, and starts nothing', async t => {
  const cwd = await directory(t, { 'gateway.yaml': GOOD })

  const { code, stdout, stderr } = await gateway(['inspect', '--offline', '--origins', '--defaults'], { cwd })

  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^ {6}TOKEN|TOKEN: "\*\*\*"/m)
  assert.ok(!stdout.includes('hush'))
  assert.match(stdout, /command: node +# gateway\.yaml:4:\d+$/m)
  assert.match(stdout, /startupTimeout: 30s +# default$/m)
  assert.match(stdout, /^ {2}one +stdio +idle$/m)
  assert.match(stdout, /^ {2}createUpstream +call-/m)
  const json = await gateway(['inspect', '--offline', '--json'], { cwd })
  assert.ok(json.stdout.startsWith('{') && !json.stdout.includes('hush'))
})

interface Shown {
  readonly config: Readonly<Record<string, object>>
  readonly origins: readonly { readonly origin: string }[]
}

test('inspect shows the values of the file, its overlay and --set, and with --defaults all others', async t => {
  const overlay = 'cache: {}\nlog: { level: warn }\n'
  const cwd = await directory(t, { 'gateway.yaml': GOOD, 'gateway.prod.yaml': overlay })
  const inspect = async (...more: string[]) => {
    const flags = ['--offline', '--env', 'prod', '--set', 'lists.pageSize=7', ...more]
    const [text, json] = await Promise.all([
      gateway(['inspect', ...flags], { cwd }),
      gateway(['inspect', '--json', ...flags], { cwd }),
    ])
    const { config, origins } = JSON.parse(json.stdout) as Shown
    return { text: text.stdout, config, hasDefaults: origins.some(({ origin }) => origin === 'default') }
  }

  const [written, all] = await Promise.all([inspect(), inspect('--defaults')])

  assert.deepEqual(Object.keys(written.config), ['version', 'listeners', 'upstreams', 'cache', 'log', 'lists'])
  assert.deepEqual([written.config.cache, written.config.lists], [{}, { pageSize: 7 }])
  assert.match(written.text, /level: warn/)
  assert.doesNotMatch(written.text, /startupTimeout/)
  assert.match(all.text, /startupTimeout/)
  assert.deepEqual([written.hasDefaults, all.hasDefaults], [false, true])
})
