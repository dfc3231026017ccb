import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { type Lookup, classifyHost } from '../../../src/net/guarded-fetch.ts'
import { Canaries, codeOf, opened, STRANGER } from './canaries.ts'

/** Sixty and more ways to write this machine, its network or a cloud's metadata. */
const HOSTS = [
  ...['127.0.0.1', '127.0.0.2', '127.1', '127.0.1', '127.255.255.254', '2130706433', '2130706434'],
  ...['017700000001', '0177.0.0.1', '0177.0.0.01', '0x7f000001', '0x7f.0.0.1', '0x7f.1', '0X7F.0x0.0x0.0x1'],
  ...['127.0.0.1.', '127.1.', '2130706433.', '%31%32%37.0.0.1', '127。0。0。1', '１２７.０.０.１', '①②⑦.⓪.⓪.①'],
  ...['0', '0.0.0.0', '0x0', '00', '0.0', '[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[0000::0001]', '[::0.0.0.1]'],
  ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[0:0:0:0:0:ffff:7f00:1]', '[::ffff:0.0.0.0]', '[::127.0.0.1]'],
  ...['[64:ff9b::7f00:1]', '[64:ff9b::169.254.169.254]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]'],
  ...['[2002:a9fe:a9fe::1]', '[2001:0:7f00:1::80ff:fffe]', '[fe80::1]', '[fec0::1]', '[fc00::1]', '[fd00:ec2::254]'],
  ...['[ff02::1]', '[::ffff:0:7f00:1]', '[100::1]', '[2001:db8::1]', '[::1%25lo]'],
  ...['169.254.169.254', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '169.254.43518', '100.100.100.200'],
  ...['168.63.129.16', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.257', '100.64.0.1'],
  ...['192.0.0.192', '198.18.0.1', '224.0.0.1', '255.255.255.255', '240.0.0.1'],
  ...['localhost', 'LOCALHOST', 'localhost.', 'app.localhost', 'ip6-localhost', 'metadata.google.internal'],
  ...['here.example.com', 'here6.example.com', 'mapped.example.com', 'mixed.example.com', 'any.example.com'],
  ...['any6.example.com', 'cloud.example.com', 'private.example.com', 'xn--lokal-kua.example.com'],
  ...['mcp.example.com@127.0.0.1', 'user:word@[::1]', 'here.example.com\\@127.0.0.1', '127.0.0.1#@mcp.example.com'],
]

const ODD = [
  'file:///etc/passwd',
  'ftp://127.0.0.1/',
  'gopher://127.0.0.1:80/_GET',
  'data:application/json,{}',
  'blob:http://127.0.0.1/x',
  'javascript:0',
  'ws://127.0.0.1/',
  'unix:/var/run/docker.sock',
  'http:///',
  'http://[::1',
  '//127.0.0.1/',
  '',
]

test('no spelling of a private address that a stranger names leads to a connection', async t => {
  const canaries = await Canaries.open(t)
  const fetch = opened()
  const urls = HOSTS.flatMap(host => ['http', 'https'].map(scheme => `${scheme}://${host}:${canaries.port}/`))
  assert.ok(new Set(HOSTS).size >= 60)

  const passed: string[] = []
  for (const url of [...urls, ...ODD]) {
    const code = await codeOf(fetch(url, { namedBy: STRANGER, timeoutMs: 5000 }))
    if (code !== 'GW_FETCH_REFUSED') passed.push(`${url} ${code}`)
  }

  assert.deepEqual(passed, [])
  assert.equal(canaries.connections, 0)
})

test('the canaries would have been reached', async t => {
  const canaries = await Canaries.open(t)
  for (const address of Canaries.addresses) {
    const socket = connect(canaries.port, address)
    await once(socket, 'connect')
    socket.destroy()
  }
  const fetch = opened()
  const own = ['127.1', '2130706433', '0x7f.1', 'localhost', 'here.example.com', '[::1]', '[::ffff:127.0.0.1]']
  for (const host of own) {
    const reply = await fetch(`http://${host}:${canaries.port}/`, { namedBy: `http://127.0.0.1:1/mcp` })
    assert.deepEqual(await reply.json(), { secret: 'canary' }, host)
  }

  assert.ok(canaries.connections >= 3 + own.length)
})

test('a name is looked up once, so that it leads nowhere else a moment later', async t => {
  const canaries = await Canaries.open(t)
  const answers = ['10.255.255.1', '127.0.0.1', '127.0.0.1']
  let asked = 0
  const rebinding: Lookup = (_name, _options, done) => {
    done(null, [{ address: answers[asked++] ?? '', family: 4 }])
  }

  // The first answer is allowed for a private server, though nobody is there; the second one would not be.
  const fetch = opened({ lookup: rebinding })
  const options = { namedBy: 'http://10.0.0.9/mcp', withinMs: 300 }
  const code = await codeOf(fetch(`http://rebind.example.com:${canaries.port}/`, options))

  assert.equal(code, 'GW_FETCH_FAILED')
  assert.equal(asked, 1)
  assert.equal(await codeOf(fetch(`http://rebind.example.com:${canaries.port}/`, options)), 'GW_FETCH_REFUSED')
  assert.equal(canaries.connections, 0)
})

test('what is private itself may name what is private, and never what is nearer or a metadata service', async () => {
  const fetch = opened()
  const cases: [string, string, boolean][] = [
    ['http://127.0.0.1:9/mcp', 'http://127.0.0.1:9/x', true],
    ['http://localhost:9/mcp', 'http://app.localhost:9/x', true],
    ['http://10.1.1.1/mcp', 'http://127.0.0.1:9/x', false],
    ['http://mcp.internal/mcp', 'http://here.example.com:9/x', false],
    ['http://127.0.0.1:9/mcp', 'http://169.254.169.254:9/x', false],
    ['http://127.0.0.1:9/mcp', 'http://any.example.com:9/x', false],
    ['http://127.0.0.1:9/mcp', 'http://metadata.google.internal:9/x', false],
    // Its name is looked up by whoever owns it: where it leads gives it no rights.
    ['https://here.example.com:9/mcp', 'http://127.0.0.1:9/x', false],
    ['http://here.example.com:9/mcp', 'http://here.example.com:9/x', false],
    ['http://here.example.com:9/mcp', 'http://here.example.com:9/mcp', true],
    ['https://here.example.com:9/mcp', 'https://here.example.com:9/x', true],
  ]
  for (const [namedBy, url, isAllowed] of cases) {
    const code = await codeOf(fetch(url, { namedBy, timeoutMs: 2000 }))
    assert.equal(code, isAllowed ? 'GW_FETCH_FAILED' : 'GW_FETCH_REFUSED', `${namedBy} names ${url}`)
  }
})

test('hosts and networks that the owner lists may be named by anybody', async () => {
  const fetch = opened({
    allowed: ['here.example.com', '*.localhost', '127.0.0.2', '10.0.0.0/8', '*.internal'],
  })
  const ask = (url: string) => codeOf(fetch(url, { namedBy: STRANGER, timeoutMs: 300 }))

  for (const url of ['https://here.example.com:9/', 'https://app.localhost:9/', 'https://127.0.0.2:9/'])
    assert.equal(await ask(url), 'GW_FETCH_FAILED', url)
  assert.equal(await ask('https://10.255.255.1:9/'), 'GW_FETCH_FAILED')
  for (const url of ['https://127.0.0.1:9/', 'https://localhost:9/', 'https://metadata.google.internal:9/'])
    assert.equal(await ask(url), 'GW_FETCH_REFUSED', url)
})

test('addresses are what the registries say', () => {
  const reaches = {
    public: ['8.8.8.8', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8', '100.128.0.1', '172.32.0.1'],
    private: ['10.0.0.1', '192.168.1.1', '::ffff:10.0.0.1', 'fd12::1', '100.64.0.1'],
    loopback: ['127.0.0.1', '::1', '::ffff:127.1.2.3'],
    never: ['0.0.0.0', '::', 'fe80::1', 'fe80::1%lo', '::127.0.0.1', '64:ff9b::10.0.0.1', 'x', '', '127.1'],
  }
  for (const [reach, addresses] of Object.entries(reaches))
    for (const address of addresses) assert.equal(classifyHost(address), reach, address)
})
