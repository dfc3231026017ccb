import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportError } from '../../../src/cli/output/report-error.ts'
import type { Terminal } from '../../../src/cli/output/terminal.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { directoryWith } from '../config/temp.ts'
import { outputTo } from '../fixtures/silent-terminal.ts'

test('warnings beside errors are labelled, and counted apart', async t => {
  const cwd = directoryWith(t, { 'gateway.yaml': 'cash: true\nupstreams:\n  a:\n  b:\n' })
  const lines: string[] = []
  const output = outputTo(lines)
  const terminal: Terminal = { cwd, environment: {}, out: output, err: output }

  const thrown: unknown = await loadConfig({ cwd, environment: { HOME: cwd } }).catch((error: unknown) => error)
  const code = await reportError(thrown, [], terminal)

  assert.equal(code, 3)
  const [head = '', ...rest] = lines
  const warnings = rest.filter(line => line.startsWith('  warning gateway.yaml:'))
  assert.match(head, /GW_CONFIG_INVALID: 1 problem and \d warnings in the configuration$/)
  assert.equal(warnings.length, Number(/(\d) warnings/.exec(head)?.[1]))
  assert.equal(rest.filter(line => line.startsWith('  gateway.yaml:')).length, 1)
  assert.doesNotMatch(lines.join('\n'), /Mend what is listed/)
})

test('what a server wrote into an error steers no terminal', async () => {
  const steering = '\u001b]52;c;Zm9v\u0007\u001b[2J\u009b2J\u202e'
  const lines: string[] = []
  const output = outputTo(lines)
  const failure = Object.assign(new Error('refused'), {
    name: 'RpcFailure',
    error: { code: -32000, message: `${steering}no such row` },
  })

  await reportError(failure, [], { cwd: '/', environment: {}, out: output, err: output })

  assert.match(lines[0] ?? '', /refused: no such row/)
  // eslint-disable-next-line no-control-regex -- they are what is looked for
  assert.doesNotMatch(lines.join('\n'), /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]/)
})

test('every error has the same JSON form, an unexpected one with its cause', async () => {
  const lines: string[] = []
  const output = outputTo(lines)
  const terminal: Terminal = { cwd: '/', environment: {}, out: output, err: output }
  const usage = Object.assign(new Error('Missing 1 required arg'), { oclif: { exit: 2 }, args: [{ name: 'tool' }] })

  const codes = [
    await reportError(new Error('broken pipe'), ['call', '--json'], terminal),
    await reportError(usage, ['call', '--json'], terminal),
  ]

  assert.deepEqual(codes, [1, 2])
  const [bug, mistake] = lines.map(line => (JSON.parse(line) as { error: Record<string, string> }).error)
  assert.deepEqual(Object.keys(bug ?? {}), ['code', 'message', 'hint', 'cause'])
  assert.match(bug?.cause ?? '', /broken pipe/)
  assert.deepEqual(Object.keys(mistake ?? {}), ['code', 'message', 'hint'])
})
