import assert from 'node:assert/strict'
import { test } from 'node:test'
import { styleText } from 'node:util'
import { parse } from 'yaml'
import { formatConfig } from '../../../src/cli/local/inspect.ts'
import { getExitCode, formatResult } from '../../../src/cli/local/call.ts'
import { toOneLine, truncateText } from '../../../src/util/plain-text.ts'
import { formatTable } from '../../../src/cli/output/table.ts'
import type { TerminalOutput } from '../../../src/cli/output/terminal.ts'

function output(width?: number): TerminalOutput {
  const line = (): void => undefined
  return {
    line,
    json: line,
    paint: (style, text) => (width === undefined ? text : styleText(style, text, { validateStream: false })),
    width,
  }
}

test('a terminal gets what fits, anything else everything', () => {
  const rows = [['name', 'a description that goes on and on and on and on']]

  assert.equal(formatTable(rows, output(40))[0]?.length, 40)
  assert.ok(formatTable(rows, output(40))[0]?.endsWith('…'))
  assert.ok(formatTable(rows, output())[0]?.endsWith('on and on'))
})

test('text of strangers cannot steer a terminal', () => {
  assert.equal(toOneLine('a\u001b[31mb\u001b[2J\u0000\u009b\n c\u202e'), 'ab c')
  assert.equal(truncateText('abcdef', 4), 'abc…')
})

test('a result goes to a program as it is, and to a terminal without what could steer it', () => {
  const result = { content: [{ type: 'text', text: '\u001b[31mred' }] }

  assert.deepEqual(formatResult(result, output()), ['\u001b[31mred'])
  assert.deepEqual(formatResult(result, output(80)), ['red'])
})

test('every kind of content has a form', () => {
  const content = [
    { type: 'resource_link', uri: 'file:///a', name: 'a' },
    { type: 'resource', resource: { uri: 'file:///b', text: 'inside' } },
    { type: 'resource', resource: { uri: 'file:///c', mimeType: 'image/png', blob: 'AAAAAAAA' } },
    { type: 'hologram', depth: 3 },
  ]

  assert.deepEqual(formatResult({ content }, output()), [
    '[resource file:///a a]',
    'inside',
    '[resource file:///c image/png, 6 B]',
    '{\n  "type": "hologram",\n  "depth": 3\n}',
  ])
  assert.deepEqual(formatResult({ content: [], structuredContent: { sum: 3 } }, output()), ['{\n  "sum": 3\n}'])
  assert.deepEqual([getExitCode({ isError: true }), getExitCode({})], [8, 0])
})

test('the effective configuration is YAML that reads back as itself', () => {
  const config = {
    version: 1,
    list: ['a', 'b c', 'd: e', '${X}', '3', '-y', '@scope/name', '*', ''],
    texts: {
      yes: 'yes',
      number: '12',
      url: 'http://x:1/y?z',
      colon: 'a: b',
      hash: 'a #b',
      time: '30s',
      empty: '',
      dot: '.5',
      star: '*a',
    },
    long: Array.from({ length: 40 }, (_, i) => `NAME_${i}`),
    nested: { deep: { on: true, off: null, map: {}, 'odd key': [{ match: { tool: 'db_*' }, to: 'web' }] } },
  }

  assert.deepEqual(parse(formatConfig(config, [], false).join('\n')), config)
  const origins = [{ pointer: '/version', value: 1, origin: 'gateway.yaml:1:10' }]
  const lines = formatConfig(config, origins, true)
  assert.match(lines[0] ?? '', /^ {2}version: 1 +# gateway\.yaml:1:10$/)
  assert.deepEqual(parse(lines.join('\n')), config)
})
