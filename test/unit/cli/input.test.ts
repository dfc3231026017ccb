import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { buildArguments, readArguments } from '../../../src/cli/local/call.ts'
import { toGatewayError } from '../../../src/cli/output/report-error.ts'
import { createTerminal } from '../../../src/cli/output/terminal.ts'
import { RpcFailure } from '../../../src/api/gateway.ts'
import { ERRORS } from '../../../src/errors/errors.ts'

const none = Readable.from([])

test('KEY=VALUE is read by the schema: text stays text, all else is JSON where it is JSON', async () => {
  const given = await readArguments({
    json: '{"a":1,"kept":true}',
    pairs: ['a=2', 'id=007', 'list=[1]', 'free=no json', 'eq=a=b'],
    stdin: none,
  })
  const schema = { type: 'object', properties: { id: { type: 'string' }, list: { type: 'array' } } }

  assert.deepEqual(buildArguments(given, schema), {
    a: 2,
    kept: true,
    id: '007',
    list: [1],
    free: 'no json',
    eq: 'a=b',
  })
  assert.deepEqual(buildArguments(given, undefined)['id'], '007')
})

test('__proto__ is just a key', async () => {
  const given = await readArguments({ json: undefined, pairs: ['__proto__={"x":1}'], stdin: none })

  assert.equal(JSON.stringify(buildArguments(given, undefined)), '{"__proto__":{"x":1}}')
})

test('colours need a terminal that can and a NO_COLOR that is not set', () => {
  const stream = { on: () => undefined, isTTY: true, columns: 100, getColorDepth: () => 8, write: () => true }
  const host = (isTTY: boolean, env: object) => ({
    env,
    argv: [],
    cwd: () => '.',
    stdout: { ...stream, isTTY },
    stderr: { ...stream, isTTY },
  })
  const painted = (isTTY: boolean, env: object) =>
    createTerminal(host(isTTY, env) as unknown as NodeJS.Process).out.paint('red', 'x') !== 'x'

  assert.deepEqual([painted(true, {}), painted(true, { NO_COLOR: '1' }), painted(false, {})], [true, false, false])
})

test('whatever is thrown becomes an error of the table', async () => {
  const usage = Object.assign(new Error('Flag --config can only be specified once'), { oclif: { exit: 2 } })
  const failure = new RpcFailure({ code: -32602, message: 'no' })

  assert.equal((await toGatewayError(usage)).message, 'flag --config can only be specified once')
  assert.deepEqual(
    [(await toGatewayError(failure)).code, (await toGatewayError(failure)).entry.exit],
    ['GW_REFUSED', 8],
  )
  for (const [data, code, hint] of [
    [{ code: 'GW_LOGIN_NEEDED' }, 'GW_LOGIN_NEEDED', 'Run gateway errors GW_LOGIN_NEEDED for details.'],
    [{ code: 'GW_UPSTREAM_FORBIDDEN' }, 'GW_UPSTREAM_FORBIDDEN', ERRORS.GW_UPSTREAM_FORBIDDEN.hint],
    // A hint with gaps is not shown.
    [{ code: 'GW_UPSTREAM_BUSY' }, 'GW_UPSTREAM_BUSY', 'Run gateway errors GW_UPSTREAM_BUSY for details.'],
    ...[{ code: 'EACCES' }, { code: 7 }, 'GW_X', null].map(odd => [odd, 'GW_REFUSED', ERRORS.GW_REFUSED.hint] as const),
  ] as const) {
    const converted = await toGatewayError(new RpcFailure({ code: 1, message: 'no', data }))
    assert.deepEqual([converted.code, converted.message.includes('no'), converted.hint], [code, true, hint])
  }
  assert.deepEqual(
    [(await toGatewayError('odd')).code, (await toGatewayError(new Error('bug'))).entry.exit],
    ['GW_INTERNAL', 1],
  )
})
