import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { runAdd, runSearch } from '../../../../src/cli/servers/add-command.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { runCommand } from '../../../fixtures/run-command.ts'
import { outputTo } from '../../fixtures/silent-terminal.ts'

type Answer = (url: URL, response: ServerResponse) => void

const NOBODY = { stdin: { isTTY: false } } as unknown as NodeJS.Process

function entry(name: string, version = '1.0.0'): object {
  const packages = [{ registryType: 'npm', identifier: '@acme/weather', version, transport: { type: 'stdio' } }]
  return { server: { name, description: `The ${name} server`, version, packages } }
}

/** A registry over HTTP whose answers the test decides, and the commands that ask it. */
async function registryOf(t: TestContext, answer: Answer) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://registry')
    asked.push(url.pathname + url.search)
    answer(url, response)
  })
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  cleanup(t, () => {
    server.close()
    server.closeAllConnections()
  })
  const directory = mkdtempSync(join(tmpdir(), 'tapgate-registry-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  const config = join(directory, 'gateway.yaml')
  writeFileSync(config, 'version: 1\nlisteners:\n  main: { type: http, port: 0 }\nupstreams: {}\n')
  const lines: string[] = []
  const out = outputTo(lines)
  const environment = { PATH: process.env.PATH, HOME: directory }
  const terminal = { cwd: directory, environment, out, err: out }
  const registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/base`
  const flags = { config, registry, yes: true, 'dry-run': false, 'no-start': true, 'no-sandbox': true }
  return {
    asked,
    lines,
    text: () => readFileSync(config, 'utf8'),
    search: (...words: string[]) => runSearch(words, { registry, config, json: true }, terminal),
    add: (what: string) => runAdd({ targetText: what, command: [], flags }, terminal, NOBODY),
  }
}

function say(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

test('a registry over HTTP is searched page by page, with one word there and the others here', async t => {
  const registry = await registryOf(t, (url, response) => {
    const isSecond = url.searchParams.get('cursor') === 'next'
    const servers = isSecond ? [entry('io.acme/weather-alpine')] : [entry('io.acme/weather-sea')]
    say(response, { servers, metadata: isSecond ? {} : { nextCursor: 'next' } })
  })

  await registry.search('weather', 'alpine')

  const { servers } = JSON.parse(registry.lines.join('\n')) as { servers: { name: string }[] }
  assert.deepEqual(
    servers.map(({ name }) => name),
    ['io.acme/weather-alpine'],
  )
  assert.equal(registry.asked.length, 2)
  assert.match(registry.asked[0] ?? '', /^\/base\/v0\.1\/servers\?search=weather&version=latest/)
})

test('a server is added by its name, with the exact version that the registry says', async t => {
  const registry = await registryOf(t, (_url, response) => say(response, entry('io.acme/weather', '2.3.4')))

  await registry.add('io.acme/weather')

  assert.deepEqual(registry.asked, ['/base/v0.1/servers/io.acme%2Fweather/versions/latest'])
  assert.match(registry.text(), /@acme\/weather@2\.3\.4/)
})

const BROKEN: Readonly<Record<string, readonly [Answer, RegExp]>> = {
  'knows no such server': [(_url, response) => say(response, {}, 404), /server not found/],
  fails: [(_url, response) => say(response, {}, 503), /HTTP 503/],
  'says no JSON': [(_url, response) => void response.end('<html>'), /JSON/],
  'answers for another server': [(_url, response) => say(response, entry('io.evil/other')), /invalid entry for/],
  'hangs up': [(_url, response) => void response.destroy(), /./],
  'sends without end': [(_url, response) => endless(response), /bytes|large|MiB/],
  'leads elsewhere': [
    (_url, response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    /./,
  ],
}

function endless(response: ServerResponse): void {
  const piece = Buffer.alloc(1024 * 1024, 0x20)
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
  }
  response.on('drain', more).on('error', () => undefined)
  more()
}

for (const [what, [answer, why]] of Object.entries(BROKEN))
  test(`nothing is added where the registry ${what}, and the reason is said`, async t => {
    const registry = await registryOf(t, answer)
    const before = registry.text()

    await assert.rejects(registry.add('io.acme/weather'), error => {
      assert.equal((error as { code?: string }).code, 'GW_REGISTRY')
      assert.match((error as Error).message, why)
      return true
    })
    assert.equal(registry.text(), before)
  })

test('without a registry the error has the lines for gateway.yaml, which then select one', async t => {
  const cwd = mkdtempSync(join(tmpdir(), 'tapgate-registry-'))
  cleanup(t, () => rmSync(cwd, { recursive: true }))
  const missing = await runCommand(['search', 'weather'], { cwd })
  assert.equal(missing.code, 2)
  const [lines = ''] = /^registry:\n {2}url: .*$/m.exec(missing.stderr) ?? []
  writeFileSync(join(cwd, 'gateway.yaml'), `version: 1\n${lines.replace('<address>', '127.0.0.1:1')}\n`)

  const { stderr } = await runCommand(['search', 'weather'], { cwd })

  assert.match(stderr, /registry https:\/\/127\.0\.0\.1:1 failed/)
})
