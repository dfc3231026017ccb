import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import * as z from 'zod'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { serveSkills } from '../../../fixtures/servers/skill-server.ts'
import { connectV1 } from '../../../peers/sdk-v1-client.ts'
import { connectV2 } from '../../../peers/sdk-v2-client.ts'

const FIT = { fit: { skills: 'asTools' } }
const THEIRS = ['crm__echo', 'shop__echo']
const OURS = ['list_skills', 'read_skill']
const EXTENSION = 'io.modelcontextprotocol/skills'

/** Starts two servers with the same URIs, and a gateway before them. */
async function serve(t: TestContext, config: JsonObject = FIT) {
  const offer = (name: string) => ({
    'refunds/SKILL.md': `---\nname: refunds\ndescription: Refunds of ${name}.\n---\nSee [steps](steps.md).\n`,
    'refunds/steps.md': `Steps of ${name}.`,
  })
  const upstreams = {
    crm: { type: 'http', url: await serveSkills(t, 'crm', offer('crm')) },
    shop: { type: 'http', url: await serveSkills(t, 'shop', offer('shop')) },
  }
  return closeAfter(t, await testGateway({ upstreams, config }))
}

interface Caller {
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(call: { name: string; arguments: JsonObject }): Promise<unknown>
}

async function read(client: Caller, name: string, args: JsonObject = {}): Promise<string> {
  const result = (await client.callTool({ name, arguments: args })) as { content: { text: string }[] }
  return result.content.map(({ text }) => text).join('\n')
}

/** Reads the skills of both servers as a model does: page by page, and a file that a skill links to. */
async function useByTools(client: Caller): Promise<void> {
  const { tools } = await client.listTools()
  const first = JSON.parse(await read(client, 'list_skills')) as { skills: JsonObject[]; nextCursor: string }
  const second = JSON.parse(await read(client, 'list_skills', { cursor: first.nextCursor })) as typeof first

  assert.deepEqual(
    tools.map(({ name }) => name),
    [...THEIRS, ...OURS],
  )
  assert.deepEqual(
    [...first.skills, ...second.skills],
    ['crm', 'shop'].map(server => ({
      ...{ uri: `skill://${server}/refunds/SKILL.md`, server, name: 'refunds' },
      description: `Refunds of ${server}.`,
    })),
  )
  assert.equal(second.nextCursor, undefined)
  assert.match(
    await read(client, 'read_skill', { uri: 'skill://shop/refunds/SKILL.md' }),
    /description: Refunds of shop/,
  )
  assert.equal(
    await read(client, 'read_skill', { uri: 'skill://crm/refunds/steps.md' }),
    'Skill from server crm (skill://crm/refunds/steps.md):\nSteps of crm.',
  )
}

for (const era of ['legacy', 'modern'] as const) {
  test(`SDK 2 uses and verifies the skills of two servers with equal URIs (${era})`, async t => {
    const client = await connectV2(await serve(t), era)
    cleanup(t, () => client.close())
    const skills = new SkillsClient(client)
    const listed = await skills.list()
    const files = await Promise.all(listed.skills.map(skill => skills.read(skill, 'steps.md')))
    const got = await skills.get('skill://shop/refunds/SKILL.md')
    const raw = await client.request({ method: 'skills/list', params: {} }, z.looseObject({ skills: z.array(z.any()) }))

    assert.deepEqual(
      files.map(({ uri, text, verified }) => ({ uri, text, verified })),
      ['crm', 'shop'].map(name => ({
        ...{ uri: `skill://${name}/refunds/steps.md`, text: `Steps of ${name}.`, verified: true },
      })),
    )
    assert.equal(got.skill.frontmatter.description, 'Refunds of shop.')
    assert.equal(raw.skills.length, 1)
  })

  test(`SDK 2 uses skills through tools (${era})`, async t => {
    const client = await connectV2(await serve(t), era)
    cleanup(t, () => client.close())
    await useByTools(client)
  })
}

test('SDK 1, which does not know skills, uses them through tools', async t => {
  const client = await connectV1(await serve(t))
  cleanup(t, () => client.close())
  await useByTools(client)
})

test('clients that use skills themselves get no tools for them, nor do those of gateways without skills', async t => {
  const { url } = await serve(t, {
    fit: { ...FIT.fit, clients: { mine: { skills: true } } },
    profiles: { plain: { fit: { skills: 'no' } } },
  })
  const plain = closeAfter(t, await testUpstream({ tools: { echo: () => 'ok' } }))
  const without = closeAfter(t, await testGateway({ upstreams: { plain }, config: FIT }))
  const list = async (address: string, name: string, capabilities: JsonObject = {}) => {
    const client = closeAfter(t, await testClient(address, { info: { name, version: '1' }, capabilities }))
    const { result } = await client.request('tools/list')
    return (result?.tools as JsonObject[]).map(tool => tool.name)
  }

  assert.deepEqual(await list(url, 'claude-code'), [...THEIRS, ...OURS])
  assert.deepEqual(await list(url, 'claude-code', { extensions: { [EXTENSION]: {} } }), THEIRS, 'it announces them')
  assert.deepEqual(await list(url, 'mcp-inspector'), THEIRS, 'it is known to use them')
  assert.deepEqual(await list(url, 'mine'), THEIRS, 'the configuration says so')
  assert.deepEqual(await list(`${url}/plain`, 'claude-code'), THEIRS, 'the profile has none')
  assert.deepEqual(await list(without.url, 'claude-code'), ['plain__echo'])
})

test('read_skill reads skills only, and both tools report mistakes to the model', async t => {
  const { url } = await serve(t)
  const client = closeAfter(t, await testClient(url))
  for (const [name, args, reason] of [
    ['read_skill', { uri: 'file:///etc/passwd' }, /must begin with skill:/],
    ['read_skill', {}, /must begin with skill:/],
    ['read_skill', { uri: 'skill://crm/unknown/SKILL.md' }, /not found/i],
    ['list_skills', { cursor: 'made-up' }, /cursor/],
  ] as const) {
    const { result } = await client.request('tools/call', { name, arguments: args })
    assert.equal(result?.isError, true)
    assert.match(JSON.stringify(result?.content), reason)
  }
})
