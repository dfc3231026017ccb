import assert from 'node:assert/strict'
import path from 'node:path'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type TestContext, describe, it, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import type { AskReply, ClientDescription } from '../../../src/api/index.ts'
import type { StdioUpstreamConfig } from '../../../src/config/config.gen.ts'
import { createGateway } from '../../../src/index.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { type TestCall, bench, callOf, script, stdioSpec, textOf } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const HOME = path.resolve('.')

describe('a server that runs where its clients work', { concurrency: 4 }, () => {
  it('has a process for each project, which its sessions share', async t => {
    const { folder, a, b } = projects(t)
    const { upstream } = await bench(t, perProject({ projects: [folder] }))
    const where = async (id: string, root: string, name = 'cwd'): Promise<string> =>
      textOf(await upstream.dispatch(called(name, id, root).call))

    assert.deepEqual([await where('1', a), await where('2', a), await where('3', b)], [a, a, b])
    assert.match(await where('1', a, 'count'), / 1$/)
    assert.match(await where('2', a, 'count'), / 2$/)
    assert.match(await where('3', b, 'count'), / 1$/)
    assert.equal(upstream.runtime?.instances.length, 3)
  })

  it('asks each session once', async t => {
    const { folder, a } = projects(t)
    const { upstream } = await bench(t, perProject({ projects: [folder] }))
    const first = called('cwd', '1', a)
    const second = called('cwd', '1', a)

    await upstream.dispatch(first.call)
    await upstream.dispatch(second.call)
    assert.deepEqual([first.asked(), second.asked()], [1, 0])

    upstream.onSessionEnd?.(first.call.exchange.session)
    const third = called('cwd', '1', a)
    await upstream.dispatch(third.call)
    assert.equal(third.asked(), 1)
  })

  it('refuses a root outside of what is allowed, also behind a link', async t => {
    const { folder, a, b } = projects(t)
    const link = path.join(a, 'link')
    symlinkSync(b, link)
    const { upstream } = await bench(t, perProject({ projects: [a] }))

    for (const [id, root] of [b, link, `${a}/../b`, folder, '/', path.join(a, 'gone')].entries())
      await assert.rejects(upstream.dispatch(called('cwd', String(id), root).call), {
        code: 'GW_UPSTREAM_START',
      })

    assert.equal(textOf(await upstream.dispatch(called('cwd', 'fine', a).call)), a)
  })

  it('allows only the directory of the gateway, unless told otherwise', async t => {
    const { a } = projects(t)
    const { upstream } = await bench(t, perProject({}))

    await assert.rejects(upstream.dispatch(called('cwd', '1', a).call), { code: 'GW_UPSTREAM_START' })

    const inside = path.join(HOME, 'src')
    assert.equal(textOf(await upstream.dispatch(called('cwd', '2', inside).call)), inside)
  })

  it('runs where the gateway does for a client that has no roots, or whose root is no file', async t => {
    const { upstream } = await bench(t, perProject({}))
    const mute = called('cwd', '1', '/', {})
    const remote = called('cwd', '2', 'https://example.com/a')

    assert.equal(textOf(await upstream.dispatch(mute.call)), HOME)
    assert.equal(mute.asked(), 0)
    assert.equal(textOf(await upstream.dispatch(remote.call)), HOME)
    assert.ok('result' in (await upstream.dispatch(callOf('tools/list'))))
  })
})

for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
  test(`a ${mode === 'legacy' ? 'legacy' : 'modern'} client is asked for its roots in the middle of its first call`, async t => {
    const { folder, a } = projects(t)
    const upstream = { type: 'stdio', command: process.execPath, args: [script('keeping-server.mjs')] }
    const config = { upstreams: { it: { ...upstream, cwd: 'project', projects: [folder] } } }
    const gateway = await createGateway(config)
    cleanup(t, () => gateway.close())
    const client = new Client(
      { name: 'inside', version: '1' },
      { capabilities: { roots: {} }, versionNegotiation: { mode } },
    )
    let asked = 0
    client.setRequestHandler('roots/list', () => {
      asked++
      return { roots: [{ uri: pathToFileURL(a).href }] }
    })
    await client.connect(gateway.transport())

    for (let call = 0; call < 2; call++) {
      const { content } = await client.callTool({ name: 'it__cwd', arguments: {} })
      assert.deepEqual(content, [{ type: 'text', text: a }])
    }

    assert.equal(asked, 1)
    await client.close()
  })
}

function perProject(overrides: Partial<StdioUpstreamConfig>): StdioUpstreamConfig {
  const keeping = script('keeping-server.mjs')
  return stdioSpec([keeping], { cwd: 'project', era: 'legacy', ...overrides })
}

function projects(t: TestContext): { folder: string; a: string; b: string } {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'projects-')))
  cleanup(t, () => rmSync(folder, { recursive: true }))
  const [a, b] = [path.join(folder, 'a'), path.join(folder, 'b')]
  for (const one of [a, b]) mkdirSync(one)
  return { folder, a, b }
}

/** A call of a session whose client says that it works there. */
function called(
  name: string,
  id: string,
  root: string,
  capabilities: JsonObject = { roots: {} },
): { call: TestCall; asked: () => number } {
  let asked = 0
  const client: Partial<ClientDescription> = { capabilities }
  const call = callOf('tools/call', { name, arguments: {} }, client, {}, { id })
  const uri = root.startsWith('https:') ? root : pathToFileURL(root).href
  const ask = (): Promise<AskReply> => {
    asked++
    return Promise.resolve({ result: { roots: [{ uri }] } })
  }
  Object.assign(call.exchange, { ask, headers: {} })
  return { call, asked: () => asked }
}
