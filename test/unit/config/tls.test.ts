import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { loadConfig, redact } from '../../../src/config/index.ts'
import { GatewayError } from '../../../src/errors/errors.ts'
import { authority } from '../fixtures/certificates.ts'
import { directoryWith } from './temp.ts'

const ours = authority()
const mine = ours.certify('gateway')
const encrypted = createPrivateKey(mine.key)
  .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'open sesame' })
  .toString()

const FILES = {
  'ca.pem': ours.cert,
  'cert.pem': mine.cert,
  'key.pem': mine.key,
  'encrypted.pem': encrypted,
  'other.pem': ours.certify('other').key,
  'old.pem': '',
  'none.pem': 'nothing of the kind',
}

/** Problems of an upstream with this `tls`, each with where it stands. */
async function problemsOf(
  t: TestContext,
  lines: string,
  url = 'https://x.example/mcp',
  listener = '{ type: stdio }',
): Promise<string[]> {
  const { cert, key } = ours.certify('old', new Date(Date.now() - 86_400_000))
  const text = `version: 1\nlisteners: { main: ${listener} }\nupstreams:\n  web:\n    type: http\n    url: ${url}\n${lines}`
  const files = { ...FILES, 'old.pem': cert, 'old-key.pem': key, 'gateway.yaml': text }
  try {
    const { warnings } = await loadConfig({ cwd: directoryWith(t, files), environment: {} })
    return warnings.map(({ line, pointer, message }) => `${line ?? 0} ${pointer} ${message}`)
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error))
    const { problems } = error.fields as { problems: { line: number; pointer: string; message: string }[] }
    return problems.map(({ line, pointer, message }) => `${line} ${pointer} ${message}`)
  }
}

it('certificates and keys that belong together are fine', async t => {
  const whole = '    tls: { ca: ca.pem, cert: cert.pem, key: key.pem }\n    http2: true\n'
  assert.deepEqual(await problemsOf(t, whole), [])
  const locked = '    tls: { cert: cert.pem, key: encrypted.pem, passphrase: open sesame }\n'
  assert.deepEqual(await problemsOf(t, locked), [])
})

for (const [what, lines, said] of [
  ['is not there', 'ca: absent.pem', /^8 \/upstreams\/web\/tls\/ca cannot read absent\.pem \(ENOENT\)$/],
  ['is no certificate', 'ca: none.pem', /^8 .*ca none\.pem contains no certificate$/],
  ['is no key', 'cert: cert.pem, key: none.pem', /^8 .*key none\.pem contains no private key$/],
  ['is encrypted', 'cert: cert.pem, key: encrypted.pem', /^8 .*key encrypted\.pem is encrypted$/],
  [
    'is encrypted with something else',
    'cert: cert.pem, key: encrypted.pem, passphrase: wrong words',
    /^8 .*passphrase wrong passphrase for encrypted\.pem$/,
  ],
  ['has no key', 'cert: cert.pem', /^8 .*cert "cert" requires "key"$/],
  ['has no certificate', 'key: key.pem', /^8 .*key "key" requires "cert"$/],
  [
    'belongs to another certificate',
    'cert: cert.pem, key: other.pem',
    /^8 .*key does not match the certificate in cert\.pem$/,
  ],
  ['has run out', 'cert: old.pem, key: old-key.pem', /^8 .*cert expired on /],
] as const)
  it(`a file that ${what} is named, with its place`, async t => {
    const problems = await problemsOf(t, `    tls:\n      { ${lines} }\n`)
    assert.equal(problems.length, 1, problems.join('\n'))
    assert.match(problems[0] ?? '', said)
  })

it('TLS settings are refused where the URL has no TLS', async t => {
  const problems = await problemsOf(t, '    http2: true\n    tls: { ca: ca.pem }\n', 'http://x.example/mcp')
  assert.deepEqual(problems, [
    '7 /upstreams/web/http2 "http2" needs TLS, but the URL of this server is not encrypted',
    '8 /upstreams/web/tls "tls" needs TLS, but the URL of this server is not encrypted',
  ])
})

for (const proxy of ['true', 'socks5://proxy.example', 'http://proxy.example/path', 'proxy.example:3128'])
  it(`"proxy: ${proxy}" is refused`, async t => {
    const problems = await problemsOf(t, `    proxy: ${proxy}\n`)
    assert.match(problems.join('\n'), /^7 \/upstreams\/web\/proxy .*(a URL or false|an http or https URL)/)
  })

it('the password of a proxy is a secret, and its host is none', async t => {
  const web = {
    type: 'http',
    url: 'https://x.example/mcp',
    proxy: 'http://gate:t0p-secret@proxy.example:3128',
  }
  const text = JSON.stringify({ version: 1, upstreams: { web } })
  const cwd = directoryWith(t, { 'gateway.yaml': text })
  const { config, secrets } = await loadConfig({ cwd, environment: {} })
  const shown = JSON.stringify(redact(config, secrets))
  assert.doesNotMatch(shown, /t0p-secret/)
  assert.match(shown, /proxy\.example:3128/)
})

describe('a listener', () => {
  const problemsOfListener = (t: TestContext, tls: string): Promise<string[]> =>
    problemsOf(t, '', 'https://x.example/mcp', `{ type: http, tls: ${tls} }`)

  it('with a certificate and a key that belong together is fine, also where it trusts clients', async t => {
    assert.deepEqual(await problemsOfListener(t, '{ cert: cert.pem, key: key.pem }'), [])
    const both = '{ cert: cert.pem, key: encrypted.pem, passphrase: open sesame, clientCa: ca.pem }'
    assert.deepEqual(await problemsOfListener(t, both), [])
  })

  for (const [what, tls, said] of [
    ['a file that is not there', '{ cert: absent.pem, key: key.pem }', /tls\/cert cannot read absent\.pem/],
    ['a key of another', '{ cert: cert.pem, key: other.pem }', /tls\/key does not match/],
    ['no authority', '{ cert: cert.pem, key: key.pem, clientCa: none.pem }', /clientCa none\.pem contains no/],
    ['one that has run out', '{ cert: old.pem, key: old-key.pem }', /tls\/cert expired on /],
    ['no key', '{ cert: cert.pem }', /"key"/],
  ] as const)
    it(`with ${what} is told so, with the place`, async t => {
      const problems = await problemsOfListener(t, tls)
      assert.equal(problems.length, 1, problems.join('\n'))
      assert.match(problems[0] ?? '', /^2 \/listeners\/main\/tls/)
      assert.match(problems[0] ?? '', said)
    })
})
