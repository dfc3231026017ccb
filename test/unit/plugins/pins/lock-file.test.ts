import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createPins } from '../../../../plugins/pins/definition.ts'
import { formatLock, readLock, writeLock } from '../../../../plugins/pins/lock-file.ts'
import { GatewayError } from '../../../../src/errors/errors.ts'
import { testGateway } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { PROMPT, TEMPLATE, TOOL } from './drifts.ts'

const PINS = createPins({
  instructions: 'One.\r\nTwo \u200b.\n',
  lists: {
    tools: [
      TOOL,
      { name: '__proto__', description: ['no text'] },
      { name: 'empty', description: '' },
      { name: '\u202e' },
    ],
    prompts: [PROMPT],
    resourceTemplates: [TEMPLATE],
  },
})

function place(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'lock-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'gateway.lock')
}

test('what is written is read as it was, is sorted, and holds no character that is not seen', t => {
  const file = place(t)
  const lock = new Map([
    ['b', PINS],
    ['a', PINS],
  ])

  writeLock(file, lock)
  const text = readFileSync(file, 'utf8')
  const read = readLock(file)

  assert.deepEqual(read?.get('b'), PINS)
  assert.deepEqual([...(read?.keys() ?? [])], ['a', 'b'])
  assert.equal(formatLock(read ?? new Map()), text)
  assert.match(text, /Two \\u200b\./)
  assert.match(text, /"\\u202e"/)
  assert.doesNotMatch(text, /[\u200b\u202e\r]/)
})

test('a lock that is no lock is refused, with what is the matter', t => {
  const file = place(t)
  writeLock(file, new Map([['a', PINS]]))
  const good = readFileSync(file, 'utf8')
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['empty', '', /JSON/],
    ['no JSON', '{"lockfileVersion": 1', /JSON/],
    ['another file', '{"name": "x", "lockfileVersion": 1}', /not a lock file/],
    ['a list', '[]', /not a lock file/],
    ['a merge', `<<<<<<< ours\n${good}`, /JSON/],
    ['another text', good.replace('Sends one mail.', 'Sends two mails.'), /tools "send": the hash does not match/],
    ['another hash', good.replace(/"hash": "v1:../, '"hash": "v1:zz'), /the hash does not match/],
    ['other instructions', good.replace('"One.', '"Two.'), /instructions "instructions": the hash does not match/],
    ['another name', good.replace('"send": {', '"sent": {'), /different name/],
    ['no definition', good.replace(/"definition": /, '"definitions": '), /no definition/],
    ['a newer file', good.replace('"lockfileVersion": 1', '"lockfileVersion": 2'), /this version/],
  ]

  for (const [what, text, says] of cases) {
    writeFileSync(file, text)
    assert.throws(
      () => readLock(file),
      (error: unknown) => error instanceof GatewayError && says.test(error.message),
      what,
    )
  }
})

test('a lock that is no plain file, or too large, is neither read nor replaced', t => {
  const file = place(t)
  const other = `${file}.other`
  writeLock(other, new Map([['a', PINS]]))
  symlinkSync(other, file)
  assert.throws(() => readLock(file), /symbolic link/)
  assert.throws(() => writeLock(file, new Map()), /symbolic link/)

  rmSync(file)
  mkdirSync(file)
  assert.throws(() => readLock(file), /not a file/)
  assert.throws(() => writeLock(file, new Map()), /not a file/)

  rmSync(file, { recursive: true })
  writeFileSync(file, '')
  truncateSync(file, 65 * 1024 * 1024)
  assert.throws(() => readLock(file), /larger than/)
})

test('a gateway with a broken lock does not start, and one without says so and how to write it', async t => {
  const file = place(t)
  const directory = join(file, '..')
  const config = { pins: 'strict', upstreams: { web: { type: 'http', url: 'http://127.0.0.1:1/mcp' } } }
  writeFileSync(file, 'x')
  await assert.rejects(testGateway({ config, directory }), { code: 'GW_PINS_LOCK' })

  rmSync(file)
  const { log, gateway } = await testGateway({ config, directory })
  cleanup(t, () => gateway.close())
  assert.ok(
    log.some(
      ({ message, hint }) => /gateway\.lock not found/.test(String(message)) && /gateway lock/.test(String(hint)),
    ),
  )
})
