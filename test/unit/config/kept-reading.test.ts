import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { KeptReading, type LoadedConfig } from '../../../src/config/index.ts'
import { GatewayError } from '../../../src/errors/errors.ts'
import { loadConfig } from '../../../src/gateway/load-config.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { ROOT } from '../../guard/sources.ts'

const TEXT = `version: 1
listeners:
  main: { type: http, port: '\${PORT:-0}' }
upstreams:
  web:
    type: http
    url: http://127.0.0.1:1/mcp
    timeout: 20s
`

interface Place {
  readonly file: string
  readonly kept: string
  /** Loads it as a start does, and keeps what was read. */
  start(environment?: Record<string, string>, set?: readonly string[]): Promise<LoadedConfig>
  /** The one file that is kept. */
  record(): Promise<string>
}

async function place(t: TestContext, text = TEXT): Promise<Place> {
  const directory = await mkdtemp(join(tmpdir(), 'kept-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'gateway.yaml')
  await writeFile(file, text)
  const kept = join(directory, 'cache', 'configurations')
  const start: Place['start'] = async (environment = {}, set = []) => {
    const reading = new KeptReading(kept)
    const loaded = await loadConfig({ file, cwd: directory, environment, set, reading })
    await reading.save(loaded.secrets)
    return loaded
  }
  const record = async (): Promise<string> => {
    const [name = '', ...others] = await readdir(kept)
    assert.deepEqual(others, [])
    return join(kept, name)
  }
  return { file, kept, start, record }
}

/** All that a loaded configuration says. */
function told({ config, origins, keys, secrets, warnings, files, sections }: LoadedConfig): unknown {
  return { config, origins: [...origins], keys: [...keys], secrets, warnings, files, sections: [...sections] }
}

/** Problems for which a configuration is refused. */
async function mistakesOf(starting: Promise<unknown>): Promise<string> {
  const error = await starting.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof GatewayError)
  return JSON.stringify(error.fields.problems)
}

test('every example is read from what was kept as it is read from its file', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'kept-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  const environment = new Proxy<Record<string, string>>({}, { get: () => undefined })
  let equal = 0
  for (const name of globSync('examples/**/gateway.yaml', { cwd: ROOT, exclude: ['**/node_modules/**'] })) {
    const options = { file: join(ROOT, name), cwd: ROOT, environment, commands: 'leave' as const }
    const plain = await loadConfig(options).catch(() => undefined)
    if (plain === undefined) continue
    for (const turn of ['first', 'again']) {
      const reading = new KeptReading(directory)
      const loaded = await loadConfig({ ...options, reading })
      await reading.save(loaded.secrets)
      assert.deepEqual(told(loaded), told(plain), `${name}, ${turn}`)
    }
    equal++
  }
  assert.ok(equal > 20, `${equal} examples`)
})

test('what is kept is used, for its owner alone, and is not written again', async t => {
  const { start, record, kept } = await place(t)
  await start()
  const file = await record()
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.equal((await stat(kept)).mode & 0o777, 0o700)
  // Nobody would see from outside that the text was not read.
  await writeFile(file, (await readFile(file, 'utf8')).replaceAll('"20s"', '"21s"'))
  const { ino } = await stat(file)

  assert.equal((await start()).config.upstreams.web?.timeout, '21s')
  assert.equal((await stat(file)).ino === ino, false, 'the values are others, so they were checked')
  const again = await stat(file)
  assert.equal((await start()).config.upstreams.web?.timeout, '21s')
  assert.equal((await stat(file)).ino, again.ino)
})

test('another letter in a file, in one that it extends, in a setting or in a variable is read anew', async t => {
  const { file, start } = await place(t, `extends: ./base.yaml\n${TEXT}`)
  const base = join(file, '..', 'base.yaml')
  await writeFile(base, 'log: { level: warn }\n')
  assert.equal((await start()).config.log.level, 'warn')
  await writeFile(base, 'log: { level: error }\n')
  assert.equal((await start()).config.log.level, 'error')
  await writeFile(file, TEXT.replace('20s', '19s'))
  const { config } = await start()
  assert.deepEqual([config.upstreams.web?.timeout, config.log.level], ['19s', 'info'])
  assert.equal((await start({}, ['upstreams.web.timeout=5s'])).config.upstreams.web?.timeout, '5s')
  assert.equal((await start()).config.upstreams.web?.timeout, '19s')
  const { main } = (await start({ PORT: '4711' })).config.listeners
  assert.equal(main?.type === 'http' && main.port, 4711)
})

test('starts with other settings keep beside each other what they have read', async t => {
  const { start, record } = await place(t)
  const ways: readonly (readonly string[])[] = [[], ['upstreams.web.timeout=5s'], ['log.level=warn']]
  for (const set of ways) await start({}, set)
  const { ino } = await stat(await record())
  for (const set of ways) await start({}, set)
  assert.equal((await stat(await record())).ino, ino)
})

test('values that come from outside are checked by each start', async t => {
  const { start } = await place(t)
  await start({ PORT: '1' })
  await start({ PORT: '1' })
  assert.match(await mistakesOf(start({ PORT: '70000' })), /65535/)
  assert.match(await mistakesOf(start({ PORT: 'many' })), /main\/port/)
  await start({ PORT: '1' })
})

test('mistakes and warnings are told by each start, in their places', async t => {
  const { file, start } = await place(t, TEXT.replace('timeout', 'timeuot'))
  for (const turn of ['first', 'again'])
    assert.match(await mistakesOf(start()), /gateway\.yaml","line":8,"col":5.*timeuot/, turn)
  await writeFile(file, `${TEXT}filters: { tools: { deny: ['\${HOME'] } }\n`)
  for (const turn of ['first', 'again']) assert.match(await mistakesOf(start()), /"line":9/, turn)
  await writeFile(file, TEXT.replace("  main: { type: http, port: '${PORT:-0}' }", '  {}'))
  for (const turn of ['first', 'again'])
    assert.match(JSON.stringify((await start()).warnings), /no listeners/, turn)
})

test('no secret is kept: those from outside are no part of it, and a text with one in it is read by each start', async t => {
  const secret = 'hunter2-hunter2'
  const headers = (value: string): string => `${TEXT}    headers: { Authorization: '${value}' }\n`
  const { file, start, kept, record } = await place(t, headers('Bearer ${TOKEN}'))
  await writeFile(join(file, '..', 'token'), `${secret}\n`)
  const loaded = await start({ TOKEN: secret })
  assert.ok(loaded.secrets.includes(secret))
  assert.equal((await readFile(await record(), 'utf8')).includes(secret), false)
  assert.deepEqual(told(await start({ TOKEN: secret })), told(loaded))
  const other = await start({ TOKEN: 'another-one-1234' })
  assert.equal(JSON.stringify(other.config).includes(secret), false)

  await rm(kept, { recursive: true })
  await writeFile(file, headers('Bearer ${file:./token}'))
  await start()
  assert.equal((await readFile(await record(), 'utf8')).includes(secret), false)
  await writeFile(join(file, '..', 'token'), 'changed-token-1\n')
  assert.match(JSON.stringify((await start()).config), /changed-token-1/)

  await rm(kept, { recursive: true })
  await writeFile(file, headers(`Bearer ${secret}`))
  await start()
  assert.deepEqual(await readdir(kept).catch(() => []), [])
})

test('what is broken, of somebody else, or of another program is passed over', async t => {
  const { start, record, kept } = await place(t)
  await start()
  const file = await record()
  const good = (await readFile(file, 'utf8')).replaceAll('"20s"', '"21s"')
  const timeout = async (): Promise<unknown> => (await start()).config.upstreams.web?.timeout
  const spoilt: Readonly<Record<string, () => Promise<unknown>>> = {
    'cut off': () => writeFile(file, good.slice(0, 99)),
    'no JSON': () => writeFile(file, '\0\0'),
    null: () => writeFile(file, 'null'),
    'of another program': () => writeFile(file, good.replace(process.version, 'v1.0.0')),
    'open to others': async () => {
      await writeFile(file, good)
      await chmod(file, 0o644)
    },
    'a link': async () => {
      await writeFile(`${file}.other`, good, { mode: 0o600 })
      await rm(file)
      await symlink(`${file}.other`, file)
    },
    'a directory': () => rm(file).then(() => mkdir(file)),
  }
  for (const [what, spoil] of Object.entries(spoilt)) {
    await rm(file, { recursive: true, force: true })
    await writeFile(file, good, { mode: 0o600 })
    await chmod(file, 0o600)
    await spoil()
    assert.equal(await timeout(), '20s', what)
  }
  await rm(kept, { recursive: true })
  await writeFile(kept, 'a file')
  assert.equal(await timeout(), '20s')
})

test('no more than 64 configurations are kept, the oldest go', async t => {
  const { kept, start } = await place(t)
  await mkdir(kept, { recursive: true, mode: 0o700 })
  for (let n = 0; n < 80; n++) await writeFile(join(kept, `${n}.json`), '{}', { mode: 0o600 })
  await start()
  assert.equal((await readdir(kept)).length, 64)
})
