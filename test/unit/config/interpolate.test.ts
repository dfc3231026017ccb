import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { describeOrigins, redact } from '../../../src/config/index.ts'
import { interpolate } from '../../../src/config/source/interpolate.ts'
import type { Problem } from '../../../src/config/problem.ts'
import { locateValues, createTree } from '../../../src/config/source/tree.ts'
import type { Tree } from '../../../src/config/source/tree.ts'
import { linesOf, load } from './temp.ts'

const LISTENERS = 'listeners: { pipe: { type: stdio } }\n'

function fill(text: string, environment: Readonly<Record<string, string>>, pointer = 'x') {
  const problems: Problem[] = []
  const tree = createTree({ [pointer]: text }, { from: 'value' }) as Tree
  const filled = interpolate(tree, environment, '/', problem => problems.push(problem))
  return {
    value: (locateValues(filled.tree).value as Record<string, unknown>)[pointer],
    problems,
    secrets: filled.secrets,
  }
}

test('each form is filled in', () => {
  const environment = { A: 'a', EMPTY: '', __proto__x: 'p' }
  const cases = [
    ['${A}', 'a'],
    ['${env:A}', 'a'],
    ['<${A}${A}>', '<aa>'],
    ['${EMPTY}', ''],
    ['${EMPTY:-x}', 'x'],
    ['${NONE:-}', ''],
    ['${env:NONE:-x y:z}', 'x y:z'],
    ['${NONE:-${A}-${ALSO_NONE:-b}}', 'a-b'],
    ['${A:?must be set}', 'a'],
    ['$${A}', '${A}'],
    ['$$${A}', '$${A}'],
    ['costs $5, {A} and $', 'costs $5, {A} and $'],
  ] as const

  for (const [text, expected] of cases) assert.deepEqual([text, fill(text, environment).value], [text, expected])
})

test('a variable that is not set is a problem, whatever Object.prototype has', () => {
  for (const name of ['NONE', 'constructor', '__proto__', 'toString']) {
    const { problems } = fill(`\${${name}}`, {})
    assert.deepEqual(
      problems.map(problem => problem.message),
      [`variable ${name} is not set`],
    )
  }
})

test('forms of other tools stay as they are, with a warning', () => {
  const { value, problems } = fill('{env:HOME} and $HOME', { HOME: '/home' })

  assert.equal(value, '{env:HOME} and $HOME')
  assert.deepEqual(
    problems.map(({ severity, hint }) => [severity, hint]),
    [['warning', 'use ${HOME}']],
  )
})

test('property: an escaped text comes out as it was, and a value is never looked at again', () => {
  fc.assert(
    fc.property(fc.string(), fc.constantFrom('${A}', '$${A}', '${', '}', 'x'), (noise, piece) => {
      const text = noise.replaceAll('$', '') + piece + noise.replaceAll('$', '')
      assert.equal(
        fill(
          text.replaceAll('${', () => '$${'),
          {},
        ).value,
        text,
      )
      assert.equal(fill('<${V}>', { V: text }).value, `<${text}>`)
    }),
  )
})

test('property: no text makes it crash, and what cannot be read is always a problem', () => {
  const soup = fc.array(fc.constantFrom('$', '{', '}', ':', '-', '?', 'A', 'env:', 'file:', '$${', '${A', ' ', '\n'), {
    maxLength: 30,
  })

  fc.assert(
    fc.property(soup, pieces => {
      const text = pieces.join('')
      const { value, problems } = fill(text, { A: 'a' })
      const untouched = typeof value === 'string' && value.replaceAll('$${', '').includes('${A}')
      assert.ok(!untouched || problems.length > 0 || text.includes('$${'))
    }),
  )
})

test('placeholders nested without end are refused', () => {
  assert.match(fill('${A:-'.repeat(50_000), {}).problems[0]?.message ?? '', /nested deeper than 16/)
})

test('a placeholder stands for a number or a boolean where the key takes one, and for text elsewhere', async t => {
  const { config } = await load(
    t,
    {
      'gateway.yaml': `
listeners: { main: { type: http, port: "\${PORT}", exposeWithoutAuth: "\${OPEN:-true}" } }
upstreams: { a: { type: stdio, command: npx, env: { PORT: "\${PORT}" }, timeout: "\${MS:-1500}", enabled: "\${ON:-false}" } }
cache: "\${CACHE:-false}"
plugins: { p: { use: ./p.ts, options: { pin: "\${PORT}" } } }
`,
    },
    { environment: { PORT: '0080' }, file: 'gateway.yaml' },
  )

  const { main } = config.listeners
  assert.ok(main?.type === 'http')
  assert.deepEqual([main.port, main.exposeWithoutAuth], [80, true])
  assert.deepEqual((config.upstreams.a as { env: unknown }).env, { PORT: '0080' })
  assert.deepEqual([config.upstreams.a?.timeout, config.upstreams.a?.enabled, config.cache], [1500, false, false])
  assert.deepEqual(config.plugins.p?.options, { pin: '0080' })
})

test('a file is read relative to the file that names it, without its last line break', async t => {
  const { config, secrets, files } = await load(t, {
    'gateway.yaml': 'extends: conf/base.yaml\n',
    'conf/base.yaml': `${LISTENERS}upstreams: { web: { type: http, url: https://example.com, headers: { A: "Bearer \${file:../keys/token}" } } }\n`,
    'keys/token': 'top-secret\n',
  })

  assert.deepEqual((config.upstreams.web as { headers: unknown }).headers, { A: 'Bearer top-secret' })
  assert.deepEqual(secrets, ['top-secret'])
  assert.match(files.at(-1) ?? '', /keys.token$/)
})

test('a file that is too large, a directory or no text is a problem', async t => {
  const lines = await linesOf(t, {
    'gateway.yaml':
      'server: { title: "${file:large}", name: "${file:.}", version: "${file:binary}", instructions: "${file:}" }\n',
    large: 'x'.repeat(65 * 1024),
    binary: '',
  })

  assert.match(lines.join('\n'), /\/server\/title cannot read <dir>\/large: too large: 65 KiB, limit 64 KiB/)
  assert.match(lines.join('\n'), /\/server\/name cannot read <dir>: not a file/)
  assert.match(lines.join('\n'), /\$\{file:\} is empty/)
})

test('secrets are remembered and never shown, wherever they turn up', async t => {
  const loaded = await load(
    t,
    {
      'gateway.yaml': `
${LISTENERS}
upstreams:
  web: { type: http, url: "https://example.com/?key=\${API_KEY}", headers: { A: "Bearer \${T}", Accept: text/plain } }
  local: { type: stdio, command: npx, args: ["--token=\${T}", "\${PLACE}"], env: { LITERAL: abc } }
`,
    },
    { environment: { API_KEY: 'key-12345', T: 'tok-12345', PLACE: 'garden' }, file: 'gateway.yaml' },
  )

  const shown = JSON.stringify([redact(loaded.config, loaded.secrets), describeOrigins(loaded, loaded.directory)])

  assert.deepEqual([...loaded.secrets].sort(), ['key-12345', 'tok-12345'])
  assert.doesNotMatch(shown, /12345|abc|text\/plain/)
  assert.match(shown, /garden/)
  assert.match(shown, /--token=\*\*\*/)
})

test('a password is not quoted because of the dollars in it', async t => {
  const lines = await linesOf(t, {
    'gateway.yaml': `${LISTENERS}upstreams: { web: { type: http, url: https://example.com, headers: { A: "pa$sword", B: "pa\${ss word" } } }\n`,
  })

  assert.equal(lines.length, 1)
  assert.doesNotMatch(lines.join(), /pa\$|sword|ss word/)
})
