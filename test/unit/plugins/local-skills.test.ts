import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { connectV2 } from '../../peers/sdk-v2-client.ts'
import { closeAfter, testClient, testGateway } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const TEXT = '---\nname: refunds\ndescription: How to refund.\nmetadata: { team: crm }\n---\nAsk first.\n'
const PNG = Buffer.from([0x89, 0x50, 0xff, 0x00])

function createDirectory(t: TestContext, files: Readonly<Record<string, string | Buffer>> = {}): string {
  const directory = mkdtempSync(join(tmpdir(), 'skills-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), content)
  }
  return directory
}

async function serve(t: TestContext, directory: string, skills: JsonObject) {
  const config = { state: { directory: './state' }, upstreams: { own: { type: 'skills', skills } } }
  const gateway = closeAfter(t, await testGateway({ directory, config }))
  const client = closeAfter(t, await testClient(gateway))
  const ask = async (method: string, uri?: string) => {
    const { result, error } = await client.request(method, uri === undefined ? {} : { uri })
    return (error ?? result) as JsonObject
  }
  return { ask, gateway }
}

test('each directory with a valid SKILL.md is served with its files, which pass the digest check', async t => {
  const directory = createDirectory(t, {
    'skills/refunds/SKILL.md': TEXT,
    'skills/refunds/assets/a b.png': PNG,
    'skills/team/deploy/SKILL.md': TEXT.replace('refunds', 'deploy'),
    'skills/other/SKILL.md': TEXT,
    'skills/plain/SKILL.md': 'no frontmatter',
  })
  const { ask, gateway } = await serve(t, directory, { dir: './skills' })

  const { skills } = (await ask('skills/list')) as { skills: JsonObject[] }
  assert.deepEqual(
    skills.map(({ uri }) => uri),
    ['skill://own/refunds/SKILL.md', 'skill://own/team/deploy/SKILL.md'],
  )
  assert.deepEqual(skills[0]?.frontmatter, {
    ...{ name: 'refunds', description: 'How to refund.' },
    metadata: { team: 'crm' },
  })
  const file = 'skill://own/refunds/assets/a%20b.png'
  assert.deepEqual(await ask('resources/read', file).then(({ contents }) => contents), [
    { uri: file, blob: PNG.toString('base64') },
  ])
  assert.match(JSON.stringify(await ask('resources/read', 'skill://own/refunds/SKILL.md')), /Ask first/)
  assert.match(JSON.stringify(await ask('resources/directory/read', 'skill://own/refunds')), /inode\/directory/)
  assert.match(JSON.stringify(await ask('resources/list')), /skill:\/\/team\/deploy\/SKILL\.md/)
  const warnings = JSON.stringify(gateway.log.filter(({ level }) => level === 'warn'))
  assert.match(warnings, /other.SKILL\.md: .*name/)
  assert.match(warnings, /plain.SKILL\.md: it has no frontmatter/)
})

const windows = process.platform === 'win32' ? 'it does not allow these names' : false

test('every file that is listed can be read, whatever its name', { skip: windows }, async t => {
  const names = [
    'a:b',
    'a@b',
    'a b',
    'a+b',
    'a,b',
    'a&b=c',
    'a;b',
    'é',
    '[a]',
    'a#b',
    'a?b',
    "a'b",
    'C|',
    '1%',
    'a%2fb',
  ]
  const directory = createDirectory(t, { 'refunds/SKILL.md': TEXT })
  for (const name of names) writeFileSync(join(directory, 'refunds', name), name)
  const { ask } = await serve(t, directory, { dir: '.' })
  const { skill } = (await ask('skills/get', 'skill://own/refunds/SKILL.md')) as { skill: { resources: JsonObject[] } }
  const uris = skill.resources.map(({ uri }) => String(uri))

  for (const uri of uris) assert.ok((await ask('resources/read', uri)).contents, uri)
  assert.ok(uris.length >= names.length)
})

test('a changed file is served with its new digest once the manifest was requested again', async t => {
  const directory = createDirectory(t, { 'refunds/SKILL.md': TEXT })
  const { ask } = await serve(t, directory, { dir: '.' })
  await ask('skills/list')
  writeFileSync(join(directory, 'refunds/SKILL.md'), `${TEXT}More.\n`)
  const uri = 'skill://own/refunds/SKILL.md'

  assert.match(JSON.stringify(await ask('resources/read', uri)), /GW_SKILL_FILE/)
  await ask('skills/get', uri)
  assert.match(JSON.stringify(await ask('resources/read', uri)), /More/)
})

test('a removed directory is an error that names it, until it is there again', async t => {
  const directory = createDirectory(t, { 'skills/refunds/SKILL.md': TEXT })
  const { ask, gateway } = await serve(t, directory, { dir: 'skills' })
  renameSync(join(directory, 'skills'), join(directory, 'elsewhere'))

  assert.match(JSON.stringify(await ask('skills/list')), /ENOENT.*skills.*GW_UPSTREAM_DOWN/)
  assert.match(JSON.stringify(await gateway.gateway.control('ps')), /"degraded":"ENOENT/)
  renameSync(join(directory, 'elsewhere'), join(directory, 'skills'))
  assert.match(JSON.stringify(await ask('skills/list')), /refunds/)
})

const allowed = process.platform === 'win32' || process.getuid?.() === 0 ? 'this user can read all files' : false

test(
  'a file or a directory that cannot be read is a warning, and other skills are served',
  { skip: allowed },
  async t => {
    const names = ['refunds', 'closed', 'locked']
    const files = names.map(name => [`${name}/SKILL.md`, TEXT.replace('refunds', name)] as const)
    const directory = createDirectory(t, {
      ...Object.fromEntries(files),
      'closed/secret': '',
      'refunds/inner/file': '',
    })
    for (const path of ['closed/secret', 'locked', 'refunds/inner']) {
      chmodSync(join(directory, path), 0)
      cleanup(t, () => chmodSync(join(directory, path), 0o700))
    }
    const { ask, gateway } = await serve(t, directory, { dir: '.' })
    const { skills } = (await ask('skills/list')) as { skills: JsonObject[] }

    assert.deepEqual(
      skills.map(({ uri }) => uri),
      ['skill://own/refunds/SKILL.md'],
    )
    assert.match(JSON.stringify(gateway.log), /closed.SKILL\.md: EACCES/)
    assert.match(JSON.stringify(gateway.log), /EACCES[^"]*locked/)
  },
)

test('no file outside the directory can be read, neither through a link nor through dots', async t => {
  const directory = createDirectory(t, { 'skills/refunds/SKILL.md': TEXT, secret: 'secret' })
  symlinkSync(join(directory, 'secret'), join(directory, 'skills/refunds/link'))
  symlinkSync(directory, join(directory, 'skills/refunds/up'))
  const { ask } = await serve(t, directory, { dir: 'skills' })

  for (const path of ['link', 'up/secret', '../../secret', '%2e%2e/%2e%2e/secret', '..%2f..%2fsecret'])
    assert.doesNotMatch(JSON.stringify(await ask('resources/read', `skill://own/refunds/${path}`)), /"secret"/, path)
  assert.doesNotMatch(JSON.stringify(await ask('skills/list')), /link|up/)
})

/** Returns a repository with these files and the tag `v1`. */
function createRepository(t: TestContext, files: Readonly<Record<string, string>>): string {
  const repository = createDirectory(t, files)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], { cwd: repository })
  git('init', '--quiet')
  git('add', '.')
  git('commit', '--quiet', '-m', 'x')
  git('tag', 'v1')
  return repository
}

test('skills of a repository are cloned at a tag, and an earlier clone is used when it is not reachable', async t => {
  const directory = createDirectory(t)
  const repository = createRepository(t, { 'skills/refunds/SKILL.md': TEXT })
  const source = { git: `file://${repository}`, ref: 'v1', dir: 'skills' }
  const list = async () => {
    const { ask, gateway } = await serve(t, directory, source)
    return { text: JSON.stringify(await ask('skills/list')), log: JSON.stringify(gateway.log) }
  }

  assert.match((await list()).text, /refunds/)
  rmSync(repository, { recursive: true })
  const { text, log } = await list()
  assert.match(text, /refunds/)
  assert.match(log, /using the earlier clone: .*does not appear to be a git repository/)
})

test('no link is followed that has replaced a file or a directory since it was found', async t => {
  const directory = createDirectory(t, {
    'skills/refunds/SKILL.md': TEXT,
    'skills/refunds/a/key': '',
    'b/key': 'secret',
  })
  const { ask } = await serve(t, directory, { dir: 'skills' })
  const read = async () => JSON.stringify(await ask('resources/read', 'skill://own/refunds/a/key'))
  const [own, other] = [join(directory, 'skills/refunds/a'), join(directory, 'b')]
  await ask('resources/list')
  rmSync(join(own, 'key'))
  symlinkSync(join(other, 'key'), join(own, 'key'))
  const link = await read()
  rmSync(own, { recursive: true })
  symlinkSync(other, own)

  assert.match(link, /not found/)
  assert.match(await read(), /not found/)
})

test('several servers have skills in different directories of one repository', async t => {
  const names = ['one', 'two', 'three', 'four']
  const files = names.map(name => [`${name}/${name}/SKILL.md`, TEXT.replace('refunds', name)])
  const git = `file://${createRepository(t, Object.fromEntries(files) as Record<string, string>)}`
  const upstreams = Object.fromEntries(names.map(dir => [dir, { type: 'skills', skills: { git, dir } }]))
  const config = { state: { directory: './state' }, upstreams }
  const gateway = closeAfter(t, await testGateway({ directory: createDirectory(t), config }))
  const client = closeAfter(t, await testClient(gateway))

  for (const name of names)
    assert.match(JSON.stringify(await client.request('skills/list', { cursor: name })), new RegExp(`${name}/SKILL.md`))
  assert.doesNotMatch(JSON.stringify(gateway.log), /cannot clone/)
})

test('stopping a server ends the git that clones it', { timeout: 20_000 }, async t => {
  // It accepts the connection, and answers nothing.
  const host = createServer().listen(0, '127.0.0.1')
  cleanup(t, () => host.close())
  const connected = once(host, 'connection') as Promise<[Socket]>
  await once(host, 'listening')
  const skills = { git: `https://127.0.0.1:${(host.address() as AddressInfo).port}/x.git` }
  const config = { state: { directory: './state' }, upstreams: { own: { type: 'skills', skills } } }
  const environment = { PATH: process.env.PATH, HOME: '/' }
  const options = { directory: createDirectory(t), config, environment, settle: false }
  const { gateway } = closeAfter(t, await testGateway(options))
  const [socket] = await connected
  const closed = new Promise(resolve => socket.on('error', resolve).on('close', resolve).resume())
  const stopped = await gateway.control('upstream.stop', { upstream: 'own' })
  await closed

  assert.match(JSON.stringify(stopped), /stopped/)
})

test('a directory outside the repository is refused', async t => {
  const directory = createDirectory(t, { 'secret/SKILL.md': TEXT.replace('refunds', 'secret') })
  const git = `file://${createRepository(t, { 'skills/refunds/SKILL.md': TEXT })}`
  for (const dir of ['..', 'skills/../..', directory]) {
    const { ask } = await serve(t, directory, { git, dir })
    assert.match(JSON.stringify(await ask('skills/list')), /must be inside the repository.*GW_UPSTREAM_DOWN/, dir)
  }
})

test('the skill of this package is served', async t => {
  const { ask } = await serve(t, createDirectory(t), { builtin: true })

  assert.match(JSON.stringify(await ask('skills/list')), /skill:\/\/own\/tapgate\/SKILL\.md/)
  const { contents } = (await ask('resources/read', 'skill://own/tapgate/SKILL.md')) as { contents: JsonObject[] }
  assert.equal(contents[0]?.text, readFileSync(new URL('../../../skills/tapgate/SKILL.md', import.meta.url), 'utf8'))
})

test('a source that is missing, or not exactly one, is an error that names it', async t => {
  const directory = createDirectory(t)
  for (const skills of [{}, { dir: '.', builtin: true }, { dir: '.', ref: 'v1' }])
    await assert.rejects(serve(t, directory, skills), (error: { fields?: unknown }) =>
      /exactly one|needs \\"git/.test(JSON.stringify(error.fields)),
    )
  const { ask } = await serve(t, directory, { dir: './missing' })
  assert.match(JSON.stringify(await ask('skills/list')), /missing.* not found.*GW_UPSTREAM_DOWN/)
})

test('a skill over the limits, or a directory without skills, is a warning that names it', async t => {
  const many = Object.fromEntries(Array.from({ length: 512 }, (_, i) => [`skills/many/${i}.txt`, '']))
  const directory = createDirectory(t, { 'skills/many/SKILL.md': TEXT.replace('refunds', 'many'), ...many })
  const { ask, gateway } = await serve(t, directory, { dir: 'skills' })
  await ask('skills/list')
  const bare = await serve(t, createDirectory(t), { dir: '.' })
  await bare.ask('skills/list')

  assert.match(JSON.stringify(gateway.log), /many.SKILL\.md: 513 files/)
  assert.match(JSON.stringify(bare.gateway.log), /no directory in .* has a SKILL\.md/)
})

test('a gateway with nothing but skills has the tools that read them, if "fit" makes them', async t => {
  const directory = createDirectory(t, { 'refunds/SKILL.md': TEXT })
  const config = { fit: { skills: 'asTools' }, upstreams: { own: { type: 'skills', skills: { dir: '.' } } } }
  const gateway = closeAfter(t, await testGateway({ directory, config }))
  const client = closeAfter(t, await testClient(gateway))
  const { result } = await client.request('tools/list')

  assert.match(JSON.stringify(result), /list_skills.*read_skill/)
})

/** A result of any form, as the client of the SDK does not know the extension. */
const ANY = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value: value as JsonObject }) },
} as const

test('the client of SDK v2 lists the skills of all servers page by page, and reads a file', async t => {
  const directory = createDirectory(t, { 'skills/refunds/SKILL.md': TEXT })
  const upstreams = {
    own: { type: 'skills', skills: { dir: 'skills' } },
    help: { type: 'skills', skills: { builtin: true } },
  }
  const gateway = closeAfter(t, await testGateway({ directory, config: { upstreams } }))
  const client = await connectV2({ url: gateway.url }, 'modern')
  cleanup(t, () => client.close())

  assert.deepEqual(client.getServerCapabilities()?.extensions, {
    'io.modelcontextprotocol/skills': { directoryRead: true },
  })
  const uris: unknown[] = []
  let cursor: unknown
  do {
    const params = cursor === undefined ? {} : { cursor }
    const page = (await client.request({ method: 'skills/list', params }, ANY)) as JsonObject
    uris.push(...(page.skills as JsonObject[]).map(({ uri }) => uri))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  assert.deepEqual(uris, ['skill://own/refunds/SKILL.md', 'skill://help/tapgate/SKILL.md'])
  const { contents } = await client.readResource({ uri: 'skill://own/refunds/SKILL.md' })
  assert.deepEqual(contents, [{ uri: 'skill://own/refunds/SKILL.md', text: TEXT }])
})
