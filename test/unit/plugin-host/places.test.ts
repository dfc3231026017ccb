import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { formatProblem, loadConfig, type Problem } from '../../../src/config/index.ts'
import type { GatewayError } from '../../../src/errors/errors.ts'
import { createGateway } from '../../../src/index.ts'
import { directoryWith } from '../config/temp.ts'

const WITH_SCHEMA = `export default {
  name: 'redact',
  schema: {
    type: 'object',
    required: ['words'],
    additionalProperties: false,
    properties: {
      words: { type: 'array', items: { type: 'string', minLength: 3 } },
      depth: { type: 'integer', multipleOf: 5 },
      pin: { type: 'string', writeOnly: true },
    },
  },
  setup() {},
}
`

test('options that a schema refuses are reported with file, line, column and key', async t => {
  const { error, lines } = await failure(
    t,
    `
      words: [abc, ab]
      word: [x]
      depth: 7
      pin: 4711
`,
    { 'redact.ts': WITH_SCHEMA },
  )

  assert.equal(error.code, 'GW_PLUGIN_OPTIONS')
  assert.deepEqual(lines.sort(), [
    'gateway.yaml:6:20 /plugins/redact/options/words/1 must NOT have fewer than 3 characters',
    'gateway.yaml:7:7 /plugins/redact/options/word unknown key "word" – did you mean "words"?',
    'gateway.yaml:8:14 /plugins/redact/options/depth must be multiple of 5',
    'gateway.yaml:9:12 /plugins/redact/options/pin expected text – put it in quotes',
  ])
  assert.match(error.message, /unknown key "word" – did you mean "words"\?/)
})

test('options that setup refuses on purpose are reported at their place', async t => {
  const { error, lines } = await failure(t, ' { a: 1 }\n', {
    'redact.ts':
      "import { gatewayError } from 'GATEWAY'\nexport default { setup() { throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'redact', why: 'no words' }) } }\n",
  })

  assert.equal(error.code, 'GW_PLUGIN_OPTIONS')
  assert.deepEqual(lines, ['gateway.yaml:5:5 /plugins/redact/options no words'])
})

const SYNTAX = {
  'in TypeScript': {
    files: { 'redact.ts': 'export default {\n  setup(): void {\n    const words = ;\n  },\n}\n' },
    place: 'redact.ts:3:19',
    message: 'SyntaxError: Expression expected',
  },
  'in TypeScript that cannot be stripped': {
    files: { 'redact.ts': 'export default {}\nenum Words {\n  A,\n}\n' },
    place: 'redact.ts:2:1',
    message: 'SyntaxError: TypeScript enum is not supported in strip-only mode',
  },
  'in JavaScript': {
    files: { 'redact.js': 'export default {\n  setup() { const words = ; },\n}\n' },
    place: 'redact.js:2:27',
    message: "SyntaxError: Unexpected token ';'",
  },
  'in a file that it imports': {
    files: { 'redact.ts': "import './words.ts'\nexport default {}\n", 'words.ts': '\nconst words = ;\n' },
    place: 'words.ts:2:15',
    message: 'SyntaxError: Expression expected',
  },
  'of an import that is not there': {
    files: {
      'redact.ts': "import { words } from './words.ts'\nexport default {}\n",
      'words.ts': 'export {}\n',
    },
    place: 'redact.ts:1:10',
    message: "SyntaxError: The requested module './words.ts' does not provide an export named 'words'",
  },
}

for (const [what, { files, place, message }] of Object.entries(SYNTAX)) {
  test(`a syntax error ${what} is reported with its line`, async t => {
    const { error, lines } = await failure(t, undefined, files)

    assert.equal(error.code, 'GW_PLUGIN_LOAD')
    assert.deepEqual(lines, [`${place} /plugins/redact/use ${message}`])
  })
}

const THROWS = {
  setup: 'export default {\n  setup() {\n    throw new TypeError("no words")\n  },\n}\n',
  'setup, after a while':
    'export default {\n  async setup() {\n    await null; throw new TypeError("no words")\n  },\n}\n',
}

for (const [what, text] of Object.entries(THROWS)) {
  test(`what ${what} throws is reported with its line`, async t => {
    const { error, lines } = await failure(t, undefined, { 'redact.ts': text })

    assert.equal(error.code, 'GW_PLUGIN_SETUP')
    assert.match(lines.join('\n'), /^redact\.ts:3:\d+ \/plugins\/redact setup failed: no words$/)
  })
}

test('what a plugin throws while it is loaded is reported with its line', async t => {
  const { error, lines } = await failure(t, undefined, { 'redact.ts': '\nthrow new Error("no words")\n' })

  assert.equal(error.code, 'GW_PLUGIN_LOAD')
  assert.deepEqual(lines, ['redact.ts:2:7 /plugins/redact/use no words'])
})

test('a file that is no plugin, or not there, is reported where the configuration names it', async t => {
  const none = await failure(t, undefined, { 'redact.ts': 'export default { name: "redact" }\n' })
  const gone = await failure(t, undefined, {}, './redact.ts')

  assert.match(none.lines.join('\n'), /^gateway\.yaml:4:18 \/plugins\/redact\/use the default export must be a plugin/)
  assert.match(
    gone.lines.join('\n'),
    /^gateway\.yaml:4:18 \/plugins\/redact\/use file not found: \/.+\/redact\.ts – correct the path, /,
  )
  assert.match(gone.error.hint, /plugins\.redact\.use/)
})

test('options keep their secrets in what is reported of them', async t => {
  const { error } = await failure(t, ' { depth: "${HUSH_TOKEN}" }\n', { 'redact.ts': WITH_SCHEMA })

  assert.doesNotMatch(JSON.stringify(error.fields) + error.message, /correct-horse/)
})

/** Fails to make a gateway with one plugin, whose options are text of the configuration. */
async function failure(
  t: TestContext,
  options: string | undefined,
  files: Readonly<Record<string, string>>,
  use = `./${Object.keys(files)[0]}`,
): Promise<{ error: GatewayError; lines: string[] }> {
  const errors = new URL('../../../src/errors/errors.ts', import.meta.url).href
  const plugin =
    options === undefined ? `  redact: { use: ${use} }\n` : `  redact:\n    options:${options}    use: ${use}\n`
  const cwd = directoryWith(t, {
    ...Object.fromEntries(Object.entries(files).map(([name, text]) => [name, text.replace('GATEWAY', errors)])),
    'package.json': '{ "type": "module" }',
    'gateway.yaml': `version: 1\nlisteners: { main: { type: http, port: 0 } }\nplugins:\n${plugin}`,
  })
  const environment = { HUSH_TOKEN: 'correct-horse-battery' }
  const loaded = await loadConfig({ cwd, environment, file: 'gateway.yaml' })
  const error = await createGateway(loaded).then(
    () => assert.fail('the gateway was made'),
    (thrown: unknown) => thrown as GatewayError,
  )
  const problems = (error.fields['problems'] ?? []) as readonly Problem[]
  return { error, lines: problems.map(problem => formatProblem(problem, cwd)) }
}
