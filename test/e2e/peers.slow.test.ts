import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { LAUNCHER, requireBuild, serveHttpGateway, writeConfig } from '../peers/gateway.ts'
import type { ConfigFile, GatewayProcess } from '../peers/gateway.ts'
import { prepareRealServers } from '../peers/real-servers.ts'
import type { RealServers } from '../peers/real-servers.ts'
import { connectV1 } from '../peers/sdk-v1-client.ts'
import { connectV2 } from '../peers/sdk-v2-client.ts'
import type { Target } from '../peers/target.ts'

/** All that the clients of both SDK versions have in common. */
interface Peer {
  listTools(): Promise<{ tools: { name: string }[] }>
  listPrompts(): Promise<{ prompts: { name: string }[] }>
  listResources(): Promise<{ resources: { uri: string }[] }>
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<{ messages: unknown[] }>
  readResource(params: { uri: string }): Promise<{ contents: unknown[] }>
  complete(params: Completion): Promise<{ completion: { values: string[] } }>
  close(): Promise<void>
}

interface Completion {
  ref: { type: 'ref/prompt'; name: string }
  argument: { name: string; value: string }
}

const CLIENTS: Record<string, (target: Target) => Promise<Peer>> = {
  'an SDK v1 client': target => connectV1(target),
  'a legacy SDK v2 client': target => connectV2(target, 'legacy'),
  'a modern SDK v2 client': target => connectV2(target, 'modern'),
  'an SDK v2 client of either era': target => connectV2(target, 'auto'),
}

let servers: RealServers
let gateway: GatewayProcess | undefined
let pipeConfig: ConfigFile | undefined

before(async () => {
  requireBuild()
  servers = await prepareRealServers()
  // Lists are asked for once here, so the first one waits for all servers.
  const common = { version: 1, lists: { grace: '20s' }, upstreams: servers.upstreams }
  gateway = await serveHttpGateway({ ...common, listeners: { main: { type: 'http', port: 0 } } })
  pipeConfig = await writeConfig({ ...common, listeners: { pipe: { type: 'stdio' } } })
})

after(async () => {
  await gateway?.stop()
  await pipeConfig?.remove()
  await servers?.remove()
})

for (const [name, connect] of Object.entries(CLIENTS)) {
  describe(`${name} over HTTP`, () => exercise(() => connect(httpTarget())))
  describe(`${name} over stdio`, () => exercise(() => connect(stdioTarget())))
}

function httpTarget(): Target {
  assert.ok(gateway)
  return { url: gateway.url }
}

function stdioTarget(): Target {
  assert.ok(pipeConfig)
  return { command: process.execPath, args: [LAUNCHER, 'serve', '--config', pipeConfig.file] }
}

function exercise(connect: () => Promise<Peer>): void {
  let peer: Peer

  before(async () => {
    peer = await connect()
  })

  after(() => peer?.close())

  listsEverything(() => peer)
  callsTools(() => peer)
  usesTheRest(() => peer)
}

function listsEverything(peer: () => Peer): void {
  test('sees the tools of all four servers under their prefixes', async () => {
    const names = (await peer().listTools()).tools.map(tool => tool.name)

    const expected = ['everything__echo', 'files__read_text_file', 'memory__read_graph', 'modern__echo']
    assert.deepEqual(
      expected.filter(name => !names.includes(name)),
      [],
    )
  })

  test('sees the prompts, resources and templates of legacy and modern servers', async () => {
    const prompts = (await peer().listPrompts()).prompts.map(prompt => prompt.name)
    const uris = (await peer().listResources()).resources.map(resource => resource.uri)
    const templates = (await peer().listResourceTemplates()).resourceTemplates.map(each => each.uriTemplate)

    assert.ok(prompts.includes('everything__simple-prompt') && prompts.includes('modern__greet'))
    assert.ok(uris.includes('memory://knowledge-graph') && uris.includes('note://today'))
    assert.ok(templates.includes('demo://resource/dynamic/text/{resourceId}') && templates.includes('note://day/{day}'))
  })
}

function callsTools(peer: () => Peer): void {
  test('calls a tool of each server', async () => {
    const [echo, file, graph, sum] = await Promise.all([
      peer().callTool({ name: 'everything__echo', arguments: { message: 'höla' } }),
      peer().callTool({ name: 'files__read_text_file', arguments: { path: servers.file } }),
      peer().callTool({ name: 'memory__read_graph', arguments: {} }),
      peer().callTool({ name: 'modern__add', arguments: { a: 1, b: 2 } }),
    ])

    assert.match(JSON.stringify(echo), /Echo: höla/)
    assert.match(JSON.stringify(file), /hello from a file/)
    assert.match(JSON.stringify(graph), /entities/)
    assert.match(JSON.stringify(sum), /"structuredContent":\{"sum":3\}/)
  })

  test('is refused a tool that nobody has', async () => {
    await assert.rejects(peer().callTool({ name: 'nobody__echo', arguments: {} }), { code: -32602 })
  })

  test('is told what is wrong with the arguments of a call', async () => {
    const results = await Promise.all([
      peer().callTool({ name: 'everything__echo', arguments: { message: 1 } }),
      peer().callTool({ name: 'modern__echo', arguments: { message: 1 } }),
    ])

    for (const result of results) assert.match(JSON.stringify(result), /"isError":true/)
  })
}

function usesTheRest(peer: () => Peer): void {
  test('gets prompts', async () => {
    const simple = await peer().getPrompt({ name: 'everything__simple-prompt' })
    const greeting = await peer().getPrompt({ name: 'modern__greet', arguments: { name: 'Ada' } })

    assert.match(JSON.stringify(simple.messages), /simple prompt/)
    assert.match(JSON.stringify(greeting.messages), /Greet Ada/)
  })

  test('reads resources, listed ones and those of a template', async () => {
    const uris = ['memory://knowledge-graph', 'demo://resource/dynamic/text/1', 'note://today', 'note://day/monday']

    const reads = await Promise.all(uris.map(uri => peer().readResource({ uri })))

    for (const [index, { contents }] of reads.entries()) {
      assert.match(JSON.stringify(contents), new RegExp(`"uri":"${uris[index]}"`))
    }
  })

  test('completes an argument of a prompt', async () => {
    const departments = await peer().complete(completion('everything__completable-prompt', 'department', 'S'))
    const names = await peer().complete(completion('modern__greet', 'name', 'A'))

    assert.deepEqual(departments.completion.values, ['Sales', 'Support'])
    assert.deepEqual(names.completion.values, ['Ada', 'Adele'])
  })
}

function completion(prompt: string, argument: string, value: string): Completion {
  return { ref: { type: 'ref/prompt', name: prompt }, argument: { name: argument, value } }
}
