import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLIENTS } from '../../../../src/cli/clients/clients.ts'
import { editorOf } from '../../../../src/cli/clients/edit.ts'

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
    const editor = editorOf(cursor)

    assert.equal(await editor.set(before, 'gateway', { a: [1] }), during)

    assert.equal(await editor.remove(during, 'gateway'), before)
  })

test('settings without servers keep their bytes when the first one is set', async () => {
  const cursor = CLIENTS.find(({ name }) => name === 'cursor')
  assert.ok(cursor)

  const text = await editorOf(cursor).set('{\n  "a": 1,   "b":  {}\n}\n', 'gateway', { x: 1 })

  assert.equal(text, '{\n  "a": 1,   "b":  {}, "mcpServers": {"gateway":{"x":1}}\n}\n')
})
