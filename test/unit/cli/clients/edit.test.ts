import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLIENTS, type ClientDefinition } from '../../../../src/cli/servers/clients.ts'
import { selectEditor } from '../../../../src/cli/servers/settings-editor.ts'
import { fromYaml } from '../../../../src/config/source/plain-yaml.ts'
import { isObject } from '../../../../src/protocol/json/json.ts'

const BESIDE = '"fs": {"command": "npx", "args": ["a",  "b"]}'

const CASES: [what: string, before: string, during: string][] = [
  [
    'on lines of their own',
    `{ "mcpServers": {\n  // mine\n  "m": {"x":1},\n  ${BESIDE}\n}}\n`,
    `{ "mcpServers": {\n  // mine\n  "m": {"x":1},\n  ${BESIDE},\n  "gateway": {\n    "a": [\n      1\n    ]\n  }\n}}\n`,
  ],
  [
    'on one line',
    `{"mcpServers": {${BESIDE}},  "theme": "dark"}\n`,
    `{"mcpServers": {${BESIDE}, "gateway": {"a":[1]}},  "theme": "dark"}\n`,
  ],
  [
    'with a comma at the end, tabs and CRLF',
    `{\r\n\t"mcpServers": {\r\n\t\t${BESIDE},\r\n\t}\r\n}`,
    `{\r\n\t"mcpServers": {\r\n\t\t${BESIDE},\r\n\t\t"gateway": {\r\n\t\t\t"a": [\r\n\t\t\t\t1\r\n\t\t\t]\r\n\t\t},\r\n\t}\r\n}`,
  ],
]

for (const [what, before, during] of CASES)
  test(`entries ${what} keep their bytes when another one is set beside them, and when it is removed`, async () => {
    const cursor = CLIENTS.find(({ name }) => name === 'cursor')
    assert.ok(cursor)
    const editor = selectEditor(cursor)

    assert.equal(await editor.set(before, 'gateway', { a: [1] }), during)

    assert.equal(await editor.remove(during, 'gateway'), before)
  })

const REMOVALS: [what: string, client: string, before: string, after: string][] = [
  [
    'between comments',
    'cursor',
    '{\n  "mcpServers": {\n    // first\n    "x y": { "command": "a" }, // about it\n    // why b\n    "b": {}\n  }\n}\n',
    '{\n  "mcpServers": {\n    // first\n    // about it\n    // why b\n    "b": {}\n  }\n}\n',
  ],
  [
    'at the end',
    'cursor',
    '{"mcpServers": {\n  "b": {}, /* , */\n  // why x\n  "x y": {\n    "command": ","\n  }\n}}',
    '{"mcpServers": {\n  "b": {} /* , */\n  // why x\n}}',
  ],
  ['on one line', 'cursor', '{"mcpServers": {"x y": {}, "b": {}}}', '{"mcpServers": {"b": {}}}'],
  [
    'of several tables',
    'codex',
    '# top\n[mcp_servers."x y"]\ncommand = "a"\n\n[mcp_servers."x y".env]\nA = "b"\n\n# why b\n[mcp_servers.b]\ncommand = "c"\n',
    '# top\n# why b\n[mcp_servers.b]\ncommand = "c"\n',
  ],
]

for (const [what, name, before, after] of REMOVALS)
  test(`a server ${what} is removed, and all else stays`, async () => {
    assert.equal(await selectEditor(clientNamed(name)).remove(before, 'x y'), after)
  })

const clientNamed = (wanted: string): ClientDefinition => {
  const client = CLIENTS.find(({ name }) => name === wanted)
  assert.ok(client, wanted)
  return client
}

const CONTINUE_ENTRY = { name: 'gateway', command: 'gateway', args: ['attach'] }

test('Continue gets a list of servers in a file that it accepts, whatever the file held before', async () => {
  const editor = selectEditor(clientNamed('continue'))
  const befores = [
    '',
    'name: me\nversion: 1.0.0\nschema: v1\n',
    'name: me\nversion: 1.0.0\nmcpServers:\n',
    'name: me\nversion: 1.0.0\nmcpServers: []\n',
    'name: me\nversion: 1.0.0\nmcpServers:\n  - name: other\n    command: other\n',
  ]
  for (const before of befores) {
    const settings = fromYaml(await editor.set(before, 'gateway', CONTINUE_ENTRY))

    assert.ok(isObject(settings))
    // What its schema demands of a file.
    assert.equal(typeof settings.name, 'string', before)
    assert.equal(typeof settings.version, 'string', before)
    assert.ok(Array.isArray(settings.mcpServers), before)
    assert.deepEqual(settings.mcpServers.at(-1), CONTINUE_ENTRY)
  }
})

test('a key without a value in YAML settings is none: the entry takes its place', async () => {
  const editor = selectEditor(clientNamed('goose'))

  const text = await editor.set('extensions:\nkeep: 1\n', 'gateway', { x: 1 })

  assert.deepEqual(fromYaml(text), { extensions: { gateway: { x: 1 } }, keep: 1 })
})

test('each client names the version, and the file or command, that its row was compared with', () => {
  for (const { name, checked } of CLIENTS) assert.ok(checked.version !== '' && checked.against !== '', name)
})
