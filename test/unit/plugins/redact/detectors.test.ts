import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selectDetectors, compileExpression } from '../../../../plugins/redact/secret-detectors.ts'
import { Redactor, type Action, type FindingCounts } from '../../../../plugins/redact/redactor.ts'
import { runToCompletion } from '../../../../plugins/redact/redactor.ts'
import { ENCODINGS, PERSONAL, secrets } from './seeded.ts'

function redactor(action: Action, ...names: string[]): (text: string) => string {
  const made = new Redactor(selectDetectors(names, new Map()), action)
  return text => runToCompletion(made.redactText(text, new Map()))
}

/** The text with all that may be decoded in it decoded, again and again. */
function allReadings(text: string): string {
  const readings = [text]
  for (let at = 0; at < readings.length && readings.length < 40; at++) {
    const one = readings[at] ?? ''
    const unfolded = one.replace(/(?<=[A-Za-z0-9+/])\r?\n(?=[A-Za-z0-9+/])/g, '')
    const next = [
      unfolded.replace(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16))),
      unfolded.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16))),
      unfolded.replace(/\\(["\\n])/g, (_, letter: string) => (letter === 'n' ? '\n' : letter)),
      unfolded.replace(/[A-Za-z0-9+/_-]{16,}={0,2}/g, run => Buffer.from(run, 'base64').toString('latin1')),
    ]
    for (const reading of next) if (!readings.includes(reading)) readings.push(reading)
  }
  return readings.join('\n\n')
}

test('two hundred secrets in eight forms: none is left, in whatever way the text is read', () => {
  const all = secrets()
  const redact = redactor('replace', 'secrets')
  assert.equal(all.length, 200)
  assert.equal(Object.keys(ENCODINGS).length, 8)

  const missed: string[] = []
  for (const [form, encode] of Object.entries(ENCODINGS))
    for (const secret of all) {
      const text = encode(secret)
      const kept = allReadings(redact(text))
      // A part of it is as bad as all of it.
      const part = secret.slice(-24)
      assert.ok(allReadings(text).includes(part), `${form} can be read`)
      if (kept.includes(part)) missed.push(`${form}: ${secret}`)
    }

  assert.deepEqual(missed, [])
})

test('personal data is found in each way it is written, and masked so that two can be told from each other', () => {
  for (const [name, text] of PERSONAL) {
    const tally: FindingCounts = new Map()
    const made = new Redactor(selectDetectors(['personal'], new Map()), 'replace')
    const replaced = runToCompletion(made.redactText(`It is ${text}, and so on.`, tally))
    assert.equal(replaced, `It is [redacted:${name}], and so on.`)
    assert.deepEqual([...tally], [[name, 1]])
  }
  assert.equal(redactor('mask', 'email')('to ann@example.com'), 'to a***@example.com')
  assert.equal(redactor('mask', 'card')('4111 1111 1111 1111'), '****1111')
  assert.equal(redactor('mask', 'iban')('DE89 3704 0044 0532 0130 00'), '****3000')
  assert.equal(redactor('mask', 'api-key')(`key ghp_${'a1'.repeat(18)}.`), 'key ghp_****.')
})

test('what only looks like it stays', () => {
  const texts = [
    '4111111111111112 has a wrong check digit, 0000000000000000 is none, and 1700000000000 is a time',
    'DE89370400440532013001 has wrong check digits',
    'version 1.2.3-4567, 2026-11-22T18:15:35.123Z, 192.168.100.200, 10.0.0.1:8080',
    '550e8400-e29b-41d4-a716-446655440000 and 9007199254740993 and 3.14159265358979',
    'decorators such as @Injectable() and @scope/package, and user@host',
    'the task-management of sk-ills and AKIAs',
    'https://example.com:8080/path?x=1 and ssh://git@example',
    '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----',
    'ISBN 978-3-16-148410-0, part 12-345-678',
    '/usr/lib/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js',
    'sha512-5U3OZh8Xq0Li4nA26l6uNvV9/1suMDuWSn+NjLZIhzinhMY6N3A4DCrxVecBGPf2PsNFKTEv5krxGPRwzxc7jQ==',
  ]
  const redact = redactor('replace', 'secrets', 'personal')

  for (const text of texts) assert.equal(redact(text), text)
})

test('JSON inside a text stays JSON: numbers keep their text, and a card in figures becomes 0', () => {
  const redact = redactor('replace', 'personal')
  const json = '{ "id": 12345678901234567890, "x": 1.50, "card": 4111111111111111,\n "to": "ann\\u0040example.com" }'

  const changed = redact(json)

  assert.equal(changed, '{ "id": 12345678901234567890, "x": 1.50, "card": 0,\n "to": "[redacted:email]" }')
  assert.equal(redact('so: {"a":"x\\nann@example.com"}'), 'so: {"a":"x\\n[redacted:email]"}')
  assert.equal(redact('so: {"a":"\\u0041nn@example.com"}'), 'so: {"a":"[redacted:email]"}')
  const names = redact('{"a@example.com":1,"b@example.com":2}')
  assert.deepEqual(Object.values(JSON.parse(names) as object), [1, 2])
})

test('base64 stays what it is, without what was in them', () => {
  const redact = redactor('replace', 'email')
  const inner = 'From: ann@example.com\r\nHello, this is a mail.'

  const base64 = redact(Buffer.from(inner).toString('base64'))

  const wanted = inner.replace('ann@example.com', '[redacted:email]')
  assert.equal(Buffer.from(base64, 'base64').toString(), wanted)
})

test('an expression of the owner is one of RE2, and a wrong one says what is wrong', async () => {
  const own = new Map([['staff', await compileExpression('staff', 'EMP-[0-9]{6}')]])
  const made = new Redactor(selectDetectors(['staff'], own), 'replace')

  assert.equal(runToCompletion(made.redactText('by EMP-123456 today', new Map())), 'by [redacted:staff] today')
  await assert.rejects(compileExpression('bad', '(?<=x)y'))
})

test('hostile texts take time in proportion to their length', async () => {
  const own = new Map([['evil', await compileExpression('evil', '(a+)+$')]])
  const made = new Redactor(selectDetectors(['secrets', 'personal', 'evil'], own), 'replace')
  const units = [
    'a',
    '@',
    'a@',
    '@a.',
    'eyJ',
    'eyJhbGciOi.',
    'eyJ-',
    'sk-',
    'sk-a',
    'ghp_',
    '-----BEGIN ',
    '-----BEGIN PRIVATE KEY-----',
    '://',
    '://a:',
    '%',
    '%25',
    '\\',
    '\\u0041',
    '&#',
    '&#65;',
    '=',
    '=41',
    '=\n',
    '4',
    '4 ',
    '4-4',
    '+1',
    '+1 ',
    '1(',
    'DE89',
    'DE89 ',
    'Bearer ',
    'A\n',
    'AAAA\n',
    '"',
    '{"',
    '[',
    '00',
    '0a',
    'a.',
    '00 ',
    '(555) ',
    '41 ',
    'dp.pt.',
    'hooks.slack.com/services/',
    'aws_secret_access_key = ',
    'QUJD',
    'aGVsbG8gd29ybGQg',
  ]
  const cpu = (text: string): number => {
    const before = process.cpuUsage()
    runToCompletion(made.redactText(text, new Map()))
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const slow: string[] = []

  for (const unit of units) {
    const [short, long] = [unit.repeat(8000 / unit.length), unit.repeat(64_000 / unit.length)]
    cpu(short)
    const [little, much] = [cpu(short), cpu(long)]
    // Eight times the text: what grows with its square would take sixty-four times as long.
    if (much > 40 * Math.max(little, 20_000)) slow.push(`${JSON.stringify(unit)}: ${little} µs, ${much} µs`)
  }

  assert.deepEqual(slow, [])
})

test('any number of finds can be taken out of one text', () => {
  const mails = redactor('replace', 'email')('a@b.de '.repeat(150_000))
  const [card] = selectDetectors(['card'], new Map())

  assert.equal(mails, '[redacted:email] '.repeat(150_000))
  assert.equal(card?.findSpans('4111111111111111 '.repeat(150_000)).length, 150_000)
})

test('a long text is free of what stands at any place of it, as is the base64 of it', () => {
  const redact = redactor('replace', 'secrets', 'email')
  const key = `ghp_${'a1B2'.repeat(9)}`
  const pem = `-----BEGIN PRIVATE KEY-----\n${'A1b2\n'.repeat(20_000)}-----END PRIVATE KEY-----`

  for (const fill of ['x ', '%20', 'AbC1'])
    for (let before = 0; before < 3; before++) {
      const around = fill.repeat(Math.ceil((32 * 1024 - 20 + 15 * before) / fill.length))
      const text = `${around} ${key} ${around} ann@example.com ${pem} ${around}`
      const encoded = Buffer.from(text).toString('base64')
      const decoded = Buffer.from(redact(encoded), 'base64').toString('latin1')
      for (const kept of [redact(text), decoded]) {
        assert.doesNotMatch(kept, /ghp_|ann@|PRIVATE|A1b2/)
        assert.equal(kept.split('[redacted:').length, 4)
      }
    }
})
