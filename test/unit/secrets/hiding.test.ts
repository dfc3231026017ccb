import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { collectSecrets } from '../../../src/config/secrets.ts'
import { redactValue, Secrets } from '../../../src/util/secrets.ts'
import { ENCODINGS, secretsOf } from './encodings.ts'

describe('secrets in a text', () => {
  const secrets = secretsOf(200, 6)
  const { hide } = new Secrets(secrets)

  for (const [name, encode] of Object.entries(ENCODINGS))
    it(`are hidden in the encoding "${name}"`, () => {
      const shown = secrets.filter(secret => {
        const text = hide(`a ${encode(secret)}, z`)
        return text.includes(encode(secret)) || !text.includes('***')
      })
      assert.deepEqual(shown, [])
    })

  it('are hidden where the text was cut within one', () => {
    const [secret = ''] = secrets
    assert.equal(hide(`Bearer ${secret.slice(0, 10)}…`), 'Bearer ***…')
    assert.equal(hide('Bearer …'), 'Bearer …')
  })

  it('are hidden while they are good, of thousands the latest', () => {
    const passing = new Secrets(['a-lasting-secret'])
    const token = (n: number): string => `eyJhbGciOi.token.${n}`
    for (let n = 0; n <= 2000; n++) passing.addTemporary(token(n))
    passing.addTemporary('a-lasting-secret')

    assert.equal(passing.hide(`Bearer ${token(2000)}, ${token(1)}`), 'Bearer ***, ***')
    assert.equal(passing.hide(`=${token(0)}=`), `=${token(0)}=`)
    assert.equal(passing.hide('a-lasting-secret'), '***')
  })

  it('are hidden where such a one is no text that could be sent', () => {
    const passing = new Secrets()
    passing.addTemporary('half-a-character-\ud83d')
    assert.equal(passing.hide('=half-a-character-\ud83d='), '=***=')
  })

  it('are looked for as fast where a long text begins like one again and again', () => {
    const known = new Secrets(['ghp_abcdefghijklmnop'])
    const cost = (count: number): number => {
      const text = `\u{1f600}${'ghp_'.repeat(count)}`
      const started = process.cpuUsage()
      known.hide(text)
      return process.cpuUsage(started).user
    }
    cost(1000)
    // A search to the end of the text at each place would take ten seconds.
    assert.ok(cost(250_000) < 2_000_000)
  })

  it('are hidden whole where one holds another', () => {
    const both = new Secrets(['secret', 'secret-and-more'])
    assert.equal(both.hide('x secret-and-more y secret'), 'x *** y ***')
  })

  it('leave all other text alone', () => {
    const text = 'upstream "files" is not available: exited with code 1 … and so on'
    assert.equal(hide(text), text)
    const data = { code: -32603, message: 'no', data: [1, { a: null }] }
    assert.equal(redactValue(data, hide), data)
  })

  it('are hidden in keys, numbers, lists and errors', () => {
    const known = new Secrets(['hunter22', '12345678'])
    const shown = redactValue({ hunter22: [12345678, new Error('no hunter22')], __proto__x: 'a' }, known.hide)
    assert.doesNotMatch(JSON.stringify(shown), /hunter22|12345678/)
  })
})

describe('secrets of a configuration', () => {
  const found = collectSecrets({
    upstreams: {
      web: {
        url: 'https://me:p%40ss-word@example.com/s/ab12cd34ef56ab12cd34ef/mcp?api_key=query-key&page=2',
        headers: { Authorization: 'Bearer literal-token', 'X-Team': 'blue', Accept: 'application/json' },
      },
      basic: {
        url: 'https://lone-token@example.com',
        headers: { Authorization: `Basic ${btoa('me:pw-pw-pw')}` },
      },
      local: {
        env: { GITHUB_TOKEN: 'ghp_1', NODE_ENV: 'production', DATABASE: 'postgres://db:db-pass@host/x' },
        args: ['--api-key', 'flag-key', '--token=joined-key', '--verbose', 'postgres://u:arg-pass@host/db'],
      },
    },
    plugins: { mine: { use: './x.js', options: { password: 'option-pass', colour: 'red' } } },
  })

  for (const secret of [
    'literal-token',
    'p@ss-word',
    'p%40ss-word',
    'ab12cd34ef56ab12cd34ef',
    'query-key',
    'lone-token',
    'pw-pw-pw',
    'ghp_1',
    'db-pass',
    'flag-key',
    'joined-key',
    'arg-pass',
    'option-pass',
  ])
    it(`have "${secret}"`, () => assert.ok(found.includes(secret), found.join('\n')))

  for (const word of ['production', 'blue', 'application/json', '2', 'red', '--verbose', 'example.com'])
    it(`do not have "${word}"`, () => assert.ok(!found.includes(word)))
})
