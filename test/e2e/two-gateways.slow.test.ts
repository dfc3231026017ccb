import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ListRootsRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { startChild, type Child } from '../peers/child.ts'
import { LAUNCHER, requireBuild } from '../peers/gateway.ts'
import { connectV1 } from '../peers/sdk-v1-client.ts'
import { directory, gateway, PACKAGE } from './cli/run.ts'
import { cleanup } from '../fixtures/cleanup.ts'

const EXAMPLE = join(PACKAGE, 'examples/smart-client-simple-server')
const [LOCAL, REMOTE] = ['local', 'remote'].map(side => join(EXAMPLE, side, 'gateway.yaml')) as [string, string]
const PATH = `${join(PACKAGE, 'node_modules/.bin')}:${process.env.PATH ?? ''}`
/** Lists are compared here, so the first one waits for all servers. */
const PATIENT = ['--set', 'lists.grace=20s']
const LOCAL_TOOLS = ['list_directory', 'read_text_file', 'write_file'].map(name => `files__${name}`)
const HAS_SHELL = process.platform !== 'win32'

test('two gateways work as one, and the local one goes on alone', { skip: !HAS_SHELL }, async t => {
  requireBuild()
  const project = await directory(t, { 'hello.txt': 'hello from the project' })
  await promisify(execFile)('git', ['init', '--quiet', project])
  const first = await remoteGateway(t, 0)
  const { client, changed } = await localClient(t, first.url, project)

  const tools = await toolsOf(client)
  for (const name of [...LOCAL_TOOLS, 'git__git_status', 'memory__read_graph', 'everything__echo'])
    assert.ok(tools.includes(name), `${name} is missing`)
  assert.ok(!tools.includes('everything__get-env') && !tools.includes('files__edit_file'))
  await worksSideBySide(client, project)
  await keepsWhatItIsTold(client)
  await saysWhatIsWhere(first.url, project)

  const gone = changed()
  first.child.process.kill('SIGKILL')
  await gone
  assert.ok((await toolsOf(client)).every(name => /^(files|git)__/.test(name)))
  assert.match(await textOf(client, 'files__read_text_file', { path: 'hello.txt' }), /hello from the project/)
  await assert.rejects(textOf(client, 'everything__echo', { message: 'a' }), /upstream "remote" is not available/)

  const back = changed()
  await remoteGateway(t, Number(new URL(first.url).port))
  await back
  assert.deepEqual(await toolsOf(client), tools)
  assert.match(await textOf(client, 'everything__echo', { message: 'again' }), /Echo: again/)
})

async function worksSideBySide(client: Client, project: string): Promise<void> {
  const ended: string[] = []
  const slow = textOf(client, 'everything__trigger-long-running-operation', { duration: 2, steps: 1 })
  const far = slow.then(text => ended.push(text))
  assert.match(await textOf(client, 'files__read_text_file', { path: 'hello.txt' }), /hello from the project/)
  assert.match(await textOf(client, 'git__git_status', { path: project }), /hello\.txt/)
  assert.deepEqual(ended, [], 'local calls wait for the remote one')
  await far
  assert.match(ended[0] ?? '', /completed/)
}

/** The memory server has a process for this session, which stays for the next call. */
async function keepsWhatItIsTold(client: Client): Promise<void> {
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['wrote the first program'] }]
  await textOf(client, 'memory__create_entities', { entities })
  assert.match(await textOf(client, 'memory__read_graph', {}), /wrote the first program/)
}

async function saysWhatIsWhere(url: string, cwd: string): Promise<void> {
  const env = { PATH, REMOTE_URL: url }
  const { stdout, stderr } = await gateway(['inspect', '-c', LOCAL, '--json'], { cwd, env })
  assert.notEqual(stdout, '', stderr)
  const { catalog } = JSON.parse(stdout) as { catalog: { name: string; upstream: string }[] }
  const owners = new Map(catalog.map(({ name, upstream }) => [name, upstream]))
  assert.equal(owners.get('files__read_text_file'), 'files')
  assert.equal(owners.get('git__git_status'), 'git')
  assert.equal(owners.get('memory__read_graph'), 'remote')
}

async function remoteGateway(t: TestContext, port: number): Promise<{ url: string; child: Child }> {
  const args = ['serve', '-c', REMOTE, '--set', `listeners.main.port=${port}`, ...PATIENT]
  const child = startChild(LAUNCHER, args, { ...process.env, PATH })
  cleanup(t, () => child.stop())
  return { url: await child.line(line => /https?:\/\/[\w.:]+\/mcp\b/.exec(line)?.[0]), child }
}

async function localClient(t: TestContext, url: string, project: string) {
  const client = await connectV1(
    {
      command: process.execPath,
      args: [LAUNCHER, 'serve', '-c', LOCAL, ...PATIENT],
      env: { PATH, REMOTE_URL: url },
      cwd: project,
    },
    { capabilities: { roots: {} } },
  )
  cleanup(t, () => client.close())
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: pathToFileURL(project).href }] }))
  let tell = (): void => undefined
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => tell())
  const changed = (): Promise<void> => new Promise<void>(resolve => (tell = resolve))
  return { client, changed }
}

async function toolsOf(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name)
}

async function textOf(client: Client, name: string, args: Record<string, unknown>): Promise<string> {
  const { content } = (await client.callTool({ name, arguments: args })) as { content: { text?: string }[] }
  return content.map(({ text }) => text).join('\n')
}
