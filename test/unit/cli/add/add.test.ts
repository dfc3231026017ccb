import assert from 'node:assert/strict'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  chmodSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse, stringify } from 'yaml'
import { runAdd, runRemove, runSearch } from '../../../../src/cli/servers/add-command.ts'
import type { AddFlags } from '../../../../src/cli/servers/add.ts'
import { parsePackage } from '../../../../src/cli/servers/launch-options.ts'
import { loadConfig } from '../../../../src/config/index.ts'
import type { GatewayError } from '../../../../src/errors/errors.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { outputTo } from '../../fixtures/silent-terminal.ts'

const REGISTRY = fileURLToPath(new URL('../../../fixtures/registry/servers.json', import.meta.url))
const MEMORY = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-memory/dist/index.js'))
const NOBODY = { stdin: { isTTY: false } } as unknown as NodeJS.Process

const WRITTEN = `# Mine.
version: 1

listeners:
  main: {type: http, port: 0}   # any port

upstreams:
  # The first one.
  first:
    type: stdio
    command: node
    args: [first.js] # so
`

interface Room {
  readonly directory: string
  readonly file: string
  readonly lines: string[]
  readonly add: (
    what: string | undefined,
    flags?: Partial<AddFlags & { yes: boolean; 'dry-run': boolean; json: boolean }>,
    command?: readonly string[],
  ) => Promise<number>
  readonly remove: (name: string) => Promise<number>
  readonly search: (words: readonly string[]) => Promise<number>
  readonly text: () => string
}

function roomOf(t: TestContext, text: string | undefined = WRITTEN): Room {
  const directory = mkdtempSync(join(tmpdir(), 'tapgate-add-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'gateway.yaml')
  if (text !== undefined) writeFileSync(file, text, { mode: 0o640 })
  const lines: string[] = []
  const output = outputTo(lines)
  const terminal = {
    cwd: directory,
    environment: { PATH: process.env.PATH, HOME: directory },
    out: output,
    err: output,
  }
  const common = { config: file, yes: true, 'dry-run': false }
  return {
    ...{ directory, file, lines },
    text: () => readFileSync(file, 'utf8'),
    add: (what, flags = {}, command = []) =>
      runAdd(
        {
          targetText: what,
          command,
          flags: { ...common, registry: REGISTRY, 'no-start': true, 'no-sandbox': true, ...flags },
        },
        terminal,
        NOBODY,
      ),
    remove: name => runRemove(name, common, terminal, NOBODY),
    search: words => runSearch(words, { registry: REGISTRY, config: file }, terminal),
  }
}

interface Row {
  readonly name: string
  readonly packages?: readonly JsonObject[]
  readonly remotes?: readonly JsonObject[]
}

function recorded(): Row[] {
  const { servers } = JSON.parse(readFileSync(REGISTRY, 'utf8')) as { servers: { server: Row }[] }
  return servers.map(({ server }) => server)
}

test('each of two hundred recorded servers is added, or refused with a reason', async t => {
  const room = roomOf(t)
  const given = {
    'env-var': [
      'WEATHER_API_KEY=w-1234567',
      'DB_USERNAME=me',
      'DB_PASSWORD=d-1234567',
      ...Array.from({ length: 50 }, (_, i) => `TOOL${i}_API_KEY=t-1234567`),
    ],
    header: ['X-API-Key: k-1234567'],
    arg: ['target_dir=/srv', 'db_type=postgres', 'tenant=me'],
  }
  const refused: string[] = []
  const wrong: string[] = []
  const upstreams: JsonObject = {}
  for (const [i, { name, packages = [], remotes = [] }] of recorded().entries()) {
    const text = JSON.stringify([packages, remotes])
    const own = {
      'env-var': given['env-var'].filter(one => text.includes(`"${one.split('=')[0] ?? ''}"`)),
      header: given.header.filter(() => text.includes('"X-API-Key"')),
      arg: given.arg.filter(one => text.includes(`"${one.split('=')[0] ?? ''}"`)),
    }
    try {
      room.lines.length = 0
      await room.add(name, { ...own, name: `s${i}`, 'dry-run': true, json: true })
      const said = room.lines.find(line => line.startsWith('{')) ?? '{}'
      upstreams[`s${i}`] = (JSON.parse(said) as JsonObject).upstream
      if (name.startsWith('io.hostile/')) wrong.push(`${name} was added`)
    } catch (error) {
      const { code, message } = error as GatewayError
      refused.push(`${name}: ${message}`)
      const isMeant = name.startsWith('io.hostile/') || name.startsWith('com.example.bundle/')
      if (!isMeant || !['GW_ADD_REFUSED', 'GW_REGISTRY'].includes(code)) wrong.push(`${name}: ${code} ${message}`)
    }
  }

  assert.deepEqual(wrong, [])
  assert.equal(Object.keys(upstreams).length, 170)
  assert.equal(refused.length, 39)
  assert.ok(
    refused.every(line => line.length > line.indexOf(': ') + 20),
    refused.join('\n'),
  )
  const text = stringify({ version: 1, listeners: { main: { type: 'http', port: 0 } }, upstreams })
  assert.ok(!text.includes('1234567'))
  writeFileSync(
    room.file,
    text.replaceAll('${file:', () => '$${file:'),
  )
  const { config } = await loadConfig({ file: room.file, cwd: room.directory, environment: {} })
  assert.equal(Object.keys(config.upstreams).length, 170)
})

test('what a registry says never becomes a reference, a program or a file of ours', async t => {
  const server = {
    name: 'io.hostile/references',
    description: 'x\u001b[31m ${exec:id}',
    version: '1.0.0',
    packages: [
      {
        registryType: 'npm',
        identifier: 'pkg',
        version: '1.0.0',
        environmentVariables: [
          { name: 'A', default: '${exec:touch pwned}' },
          { name: 'B', value: '${file:/etc/passwd}' },
          { name: 'C', value: '{dollar}{HOME}', variables: { dollar: { default: '$' } } },
        ],
        packageArguments: [
          { type: 'positional', value: '${HOME}' },
          { type: 'named', name: '--x', value: '$(id) `id` ; id' },
        ],
      },
    ],
  }
  const room = roomOf(t)
  const registry = join(room.directory, 'registry.json')
  writeFileSync(registry, JSON.stringify({ servers: [{ server }] }))
  await room.add('io.hostile/references', { registry, name: 'x' })

  const { config } = await loadConfig({
    file: room.file,
    cwd: room.directory,
    environment: { HOME: '/home/me' },
  })
  const { env, args } = config.upstreams.x as unknown as { env: unknown; args: unknown }
  assert.deepEqual(env, { A: '${exec:touch pwned}', B: '${file:/etc/passwd}', C: '${HOME}' })
  assert.deepEqual(args, ['-y', 'pkg@1.0.0', '${HOME}', '--x', '$(id) `id` ; id'])
  assert.ok(!existsSync(join(room.directory, 'pwned')))
})

test('adding and removing keeps comments, order and the mode, and a copy of what was', async t => {
  const room = roomOf(t)
  await room.add('https://mcp.example.com/mcp', {
    name: 'web',
    header: ['Authorization: Bearer abcdefgh12345'],
  })
  const added = room.text()

  for (const line of WRITTEN.split('\n')) assert.ok(normalized(added).includes(normalized(line)), line)
  assert.equal(statSync(room.file).mode & 0o777, 0o640)
  assert.equal(readFileSync(`${room.file}.bak`, 'utf8'), WRITTEN)
  assert.deepEqual((parse(added) as { upstreams: JsonObject }).upstreams.web, {
    type: 'http',
    url: 'https://mcp.example.com/mcp',
    headers: { authorization: 'Bearer ${file:./secrets/web-headers-authorization}' },
  })
  const secret = join(room.directory, 'secrets', 'web-headers-authorization')
  assert.equal(readFileSync(secret, 'utf8'), 'abcdefgh12345')
  assert.equal(statSync(secret).mode & 0o777, 0o600)
  await room.remove('web')
  assert.equal(normalized(room.text()), normalized(WRITTEN))
  await assert.rejects(room.remove('web'), /no upstream named "web"/)
})

test('a server is started once before it is added, and its tools are shown', async t => {
  const room = roomOf(t)
  await room.add(undefined, { 'no-start': false, name: 'memory' }, ['node', MEMORY])
  assert.ok(
    room.lines.some(line => /^started memory: 9 tools, about \d+ tokens$/.test(line)),
    room.lines.join('\n'),
  )
  assert.ok(room.text().includes('memory:'))

  const before = room.text()
  const bad = room.add(undefined, { 'no-start': false, name: 'bad', 'env-var': ['API_TOKEN=abcdefgh12345'] }, [
    'node',
    '-e',
    'process.exit(3)',
  ])
  await assert.rejects(bad, { code: 'GW_ADD_TRIAL' })
  assert.equal(room.text(), before)
  assert.ok(!existsSync(join(room.directory, 'secrets')))
})

test('a package or an image gets the arguments behind it, and keeps references in them', async t => {
  const room = roomOf(t)
  const entry = (name: string): unknown => (parse(room.text()) as { upstreams: JsonObject }).upstreams[name]
  const args = ['/data', '--root', '${HOME}']

  await room.add('npm:@scope/files@1.2.3', { name: 'npm' }, args)
  await room.add('pypi:files==1.2.3', { name: 'pypi' }, args)
  await room.add('docker:files:1.2.3', { name: 'docker' }, args)

  assert.deepEqual(entry('npm'), {
    type: 'stdio',
    command: 'npx',
    args: ['-y', '@scope/files@1.2.3', ...args],
  })
  assert.deepEqual(entry('pypi'), { type: 'stdio', command: 'uvx', args: ['files==1.2.3', ...args] })
  assert.deepEqual(entry('docker'), {
    type: 'stdio',
    command: 'docker',
    args: ['run', '--rm', '-i', 'files:1.2.3', ...args],
  })
  await assert.rejects(room.add('https://mcp.example.com/mcp', {}, ['x']), { code: 'GW_USAGE' })
  await assert.rejects(room.add('openapi:a.json', {}, ['x']), { code: 'GW_USAGE' })
})

test('values of a container stand in the environment of docker, and not in its arguments', () => {
  const option = (name: string, value: string): JsonObject => ({
    ...{ type: 'named', name, value },
    variables: { secret: { isSecret: true, isRequired: true } },
  })
  const way = parsePackage({
    ...{ registryType: 'oci', identifier: 'files', version: '1.2.3' },
    environmentVariables: [{ name: 'API_KEY' }, { name: 'DOCKER_HOST', value: 'tcp://evil:2375' }],
    runtimeArguments: [
      option('-e', 'TOKEN={secret}'),
      option('--env', 'URL=db://{secret}?a=b'),
      option('-e', 'LD_PRELOAD=/lib/x.so'),
      option('-e', 'https_proxy=http://evil'),
      option('-e', 'LANG'),
    ],
  })
  const answers = new Map([
    ['env API_KEY', '${API_KEY}'],
    ['arg secret', '${file:secrets/secret}'],
  ])

  assert.ok('upstream' in way)
  const { args, env } = way.upstream(answers)
  assert.deepEqual(env, {
    API_KEY: '${API_KEY}',
    TOKEN: '${file:secrets/secret}',
    URL: 'db://${file:secrets/secret}?a=b',
  })
  const names = ['API_KEY', 'DOCKER_HOST=tcp://evil:2375', 'TOKEN', 'URL', 'LD_PRELOAD=/lib/x.so']
  assert.deepEqual(args, [
    ...['run', '--rm', '-i'],
    ...[...names, 'https_proxy=http://evil', 'LANG'].flatMap(name => ['-e', name]),
    'files:1.2.3',
  ])
})

test('a document that names no server is added with the one of --server, and its hint says so', async t => {
  const room = roomOf(t)
  const paths = { '/pets': { get: { operationId: 'pets', responses: { 200: { description: 'all' } } } } }
  const document = { openapi: '3.1.0', info: { title: 'Pets', version: '1' }, paths }
  writeFileSync(join(room.directory, 'pets.json'), JSON.stringify(document))
  const start = { 'no-start': false } as const

  await assert.rejects(
    room.add('openapi:./pets.json', start),
    (error: GatewayError) => error.code === 'GW_ADD_TRIAL' && error.hint.includes('--server'),
  )
  await room.add('openapi:./pets.json', { ...start, server: 'https://pets.example.com/v1' })

  const { upstreams } = parse(room.text()) as { upstreams: JsonObject }
  assert.deepEqual(upstreams.pets, {
    type: 'openapi',
    document: './pets.json',
    server: 'https://pets.example.com/v1',
  })
  await assert.rejects(room.add('npm:x@1.0.0', { server: 'https://pets.example.com' }), { code: 'GW_USAGE' })
})

test('nothing is written where the file would not be valid, is no file of ours, or nobody agrees', async t => {
  const broken = roomOf(t, `${WRITTEN}wrong: true\n`)
  await assert.rejects(broken.add('https://mcp.example.com/mcp'), { code: 'GW_CONFIG_INVALID' })
  assert.equal(broken.text(), `${WRITTEN}wrong: true\n`)
  assert.deepEqual(readdirSync(broken.directory), ['gateway.yaml'])

  const room = roomOf(t)
  await assert.rejects(room.add('https://mcp.example.com/mcp', { yes: false }), /use --yes/)
  await assert.rejects(
    room.add('https://mcp.example.com/mcp', { name: 'first' }),
    /an upstream named "first" already exists/,
  )
  await assert.rejects(
    room.add('io.github.vendor0/tool-0'),
    /missing values: --env-var TOOL0_API_KEY=…, --arg target_dir=…/,
  )
  await assert.rejects(room.add('io.github.vendor0/tool-O'), /did you mean/)
  await assert.rejects(room.add('io.github.vend\u043er0/tool-0'), /is not one of/)
  await assert.rejects(room.add('npm:--registry=x@1.0.0'), /is not a valid package name/)
  await room.add('https://mcp.example.com/mcp', { 'dry-run': true })
  assert.equal(normalized(room.text()), normalized(WRITTEN))
  chmodSync(room.file, 0o440)
  await assert.rejects(room.add('https://mcp.example.com/mcp'), /read-only/)
})

test('a linked configuration stays a link, and two that add at once both do', async t => {
  const room = roomOf(t)
  const real = join(room.directory, 'real.yaml')
  writeFileSync(real, WRITTEN)
  rmSync(room.file)
  symlinkSync(real, room.file)
  await Promise.all(
    Array.from({ length: 5 }, (_, i) => room.add(`https://mcp${i}.example.com/mcp`, { name: `web${i}` })),
  )

  const { upstreams } = parse(readFileSync(real, 'utf8')) as { upstreams: JsonObject }
  assert.deepEqual(Object.keys(upstreams).sort(), ['first', 'web0', 'web1', 'web2', 'web3', 'web4'])
  assert.ok(!existsSync(`${room.file}.lock`))
})

test('a search finds by all of its words, and marks unsupported servers', async t => {
  const room = roomOf(t)
  await room.search(['weather', 'station', '3'])
  assert.ok(room.lines.some(line => line.includes('io.github.weather/station-3 ')))
  assert.ok(room.lines.every(line => !line.includes('tool-')))
  await room.search(['hostile', 'package'])
  assert.ok(room.lines.some(line => line.includes('io.hostile/pkg-1 ') && line.includes('not supported')))
})

/** A text without the blanks that its author may choose. */
function normalized(text: string): string {
  return text.replace(/[ ]/g, '')
}
