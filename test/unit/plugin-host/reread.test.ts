import assert from 'node:assert/strict'
import { mkdir, mkdtemp, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test, type TestContext } from 'node:test'
import { createGateway } from '../../../src/gateway/gateway.ts'
import { loadConfig } from '../../../src/gateway/load-config.ts'
import { testUpstream } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

async function openGateway(t: TestContext, files: Readonly<Record<string, string>>) {
  const cwd = await realpath(await mkdtemp(join(tmpdir(), 'reread-')))
  await mkdir(join(cwd, 'node_modules'))
  await symlink(ROOT, join(cwd, 'node_modules', 'tapgate'))
  const web = await testUpstream({ tools: { echo: () => 'echo' } })
  cleanup(t, async () => {
    await web.stop()
    await rm(cwd, { recursive: true })
  })
  let changes = 0
  const write = async (name: string, text: string): Promise<void> => {
    await writeFile(join(cwd, name), text)
    // Two changes within one tick of the file system are still two.
    const time = Date.now() / 1000 + ++changes
    await utimes(join(cwd, name), time, time)
  }
  for (const [name, text] of Object.entries(files)) await write(name, text)
  const config = {
    version: 1,
    upstreams: { web: { type: 'http', url: web.url } },
    plugins: { words: { use: './words.mjs' } },
  }
  await write('gateway.yaml', JSON.stringify(config))
  const load = () => loadConfig({ cwd, environment: {} })
  const gateway = await createGateway(await load(), { load })
  cleanup(t, () => gateway.close())
  const client = await gateway.connect()
  const read = async (): Promise<string> => {
    const { content } = (await client.request('tools/call', { name: 'web__echo' })) as { content: { text: string }[] }
    return String(content[0]?.text)
  }
  return { gateway, read, write }
}

const PLUGIN = `
import { answer } from 'tapgate/plugin'
import { word } from './word.mjs'
const content = [{ type: 'text', text: 'one ' + word }]
export default { name: 'words', setup({ hooks }) { hooks.request.tap({ methods: ['tools/call'] }, () => answer({ content })) } }
`

test('a reload reads a changed plugin again, and the modules that it imports', async t => {
  const { gateway, read, write } = await openGateway(t, {
    'word.mjs': "export const word = 'red'",
    'words.mjs': PLUGIN,
  })
  assert.equal(await read(), 'one red')

  await write('word.mjs', "export const word = 'blue'")
  await gateway.reload()
  assert.equal(await read(), 'one blue')

  await write('words.mjs', PLUGIN.replace('one', 'two'))
  await gateway.reload()
  assert.equal(await read(), 'two blue')
})

test('a reload keeps the running plugin while the changed one does not load', async t => {
  const { gateway, read, write } = await openGateway(t, {
    'word.mjs': "export const word = 'red'",
    'words.mjs': PLUGIN,
  })

  await write('word.mjs', 'export const word =')
  await assert.rejects(gateway.reload(), /GW_PLUGIN_LOAD|plugin "words"/)
  assert.equal(await read(), 'one red')

  await write('word.mjs', "export const word = 'green'")
  await gateway.reload()
  assert.equal(await read(), 'one green')
})

test('an async tap of a synchronous hook is refused at the start, with the hook and the place', async t => {
  const plugin =
    "export default {\n  name: 'words',\n  setup({ hooks }) {\n    hooks.settled.tap(async () => {})\n  },\n}\n"
  await assert.rejects(
    openGateway(t, { 'words.mjs': plugin }),
    (error: Error & { fields?: { problems?: { line: number }[] } }) => {
      assert.match(error.message, /hook "settled" is synchronous: its tap must not be an async function/)
      assert.equal(error.fields?.problems?.[0]?.line, 4)
      return true
    },
  )
})
