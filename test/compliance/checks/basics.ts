import assert from 'node:assert/strict'
import { listAll, needed, refusal, shown } from './check.ts'
import type { Check } from './check.ts'

const VERSIONS = { legacy: ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'], modern: ['2026-07-28'] }

const METHODS = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
}

/** Handshakes, lists and what belongs to every request. */
export const BASICS: Record<string, Check> = {
  'session.version': async ({ peer }) => {
    if (peer.version !== '') assert.ok(VERSIONS[peer.era].includes(peer.version), `it speaks ${peer.version}`)
  },
  'session.identity': async ({ peer }) => {
    assert.equal(typeof peer.server.info['name'], 'string')
    assert.equal(typeof peer.server.info['version'], 'string')
  },
  'session.capabilities': async ({ peer }) => {
    for (const name of ['tools', 'prompts', 'resources', 'completions'])
      assert.equal(typeof peer.server.capabilities[name], 'object', `${name} is not declared`)
  },
  'session.instructions': async ({ peer, offer }) => {
    assert.match(peer.server.instructions ?? '', needed(offer.instructions))
  },
  'session.ping': async ({ peer }) => {
    assert.equal(typeof (await peer.request('ping', {})), 'object')
  },
  'session.reconnect': async ({ site }) => {
    const second = await site.connect({})
    const tools = await listAll(second, 'tools/list', 'tools')
    await second.close()
    assert.ok(tools.length > 0)
  },
  'errors.method': async ({ peer }) => {
    await assert.rejects(peer.request('example/nothing', {}), (error: { code?: unknown; message?: string }) => {
      // A client of SDK v2 reports the HTTP 404 that goes with it in place of the code.
      return error.code === -32601 || /404|CLIENT_HTTP/i.test(`${String(error.code)} ${error.message}`)
    })
  },
  'errors.tool': async ({ peer }) => {
    const answer = peer.request('tools/call', { name: 'no_such_tool', arguments: {} })
    // SDK v1 servers put it into the result.
    const outcome = await answer.then(
      result => (result['isError'] === true ? -32602 : 0),
      (error: unknown) => (error as { code: number }).code,
    )
    assert.equal(outcome, -32602)
  },
  'errors.prompt': async ({ peer }) => {
    assert.equal(await refusal(peer.request('prompts/get', { name: 'no_such_prompt', arguments: {} })), -32602)
  },
  'errors.resource': async ({ peer, offer }) => {
    const code = await refusal(peer.request('resources/read', { uri: offer.missing.uri }))
    const allowed = peer.era === 'modern' ? [-32602] : [-32602, -32002]
    assert.ok(allowed.includes(code), `it was refused with ${code}`)
  },
  'errors.arguments': async ({ peer, offer }) => {
    const { name, arguments: args = {} } = offer.invalid
    const outcome = await peer.request('tools/call', { name, arguments: args }).then(
      result => result['isError'] === true,
      (error: unknown) => (error as { code: number }).code === -32602,
    )
    assert.ok(outcome, 'wrong arguments were taken')
  },
  'lists.tools': async ({ peer, offer }) => {
    const tools = await listAll(peer, 'tools/list', 'tools')
    const names = tools.map(tool => tool['name'])
    assert.ok(names.includes(offer.text.name), `${offer.text.name} is not listed`)
    assert.equal(new Set(names).size, names.length, 'a name is listed twice')
    for (const { inputSchema } of tools) assert.equal((inputSchema as { type: string }).type, 'object')
  },
  'lists.prompts': async ({ peer, offer }) => {
    const prompts = await listAll(peer, 'prompts/list', 'prompts')
    const found = prompts.find(prompt => prompt['name'] === offer.promptArguments.name)
    assert.ok(found, `${offer.promptArguments.name} is not listed`)
    const names = (found['arguments'] as { name: string }[]).map(argument => argument.name)
    assert.deepEqual(names, Object.keys(offer.promptArguments.arguments ?? {}))
  },
  'lists.resources': async ({ peer, offer }) => {
    const uris = (await listAll(peer, 'resources/list', 'resources')).map(resource => resource['uri'])
    assert.ok(uris.includes(offer.resource.uri), `${offer.resource.uri} is not listed`)
  },
  'lists.templates': async ({ peer, offer }) => {
    const templates = await listAll(peer, 'resources/templates/list', 'resourceTemplates')
    assert.ok(templates.some(template => template['uriTemplate'] === offer.template.template))
  },
  'lists.order': async ({ peer }) => {
    for (const [member, method] of Object.entries(METHODS))
      assert.deepEqual(await listAll(peer, method, member), await listAll(peer, method, member))
  },
  'lists.pages': async ({ peer, offer }) => {
    const uris = (await listAll(peer, 'resources/list', 'resources')).map(resource => resource['uri'])
    for (const uri of needed(offer.pages).uris) assert.ok(uris.includes(uri), `${uri} is on no page`)
    assert.equal(new Set(uris).size, uris.length, 'a page overlaps another')
  },
  'lists.metadata': async ({ peer, offer }) => {
    const tools = await listAll(peer, 'tools/list', 'tools', true)
    const tool = tools.find(({ name }) => name === needed(offer.vendor).name) ?? {}
    assert.equal(tool['title'], 'Vendor fields')
    assert.deepEqual(tool['annotations'], { title: 'Vendor', readOnlyHint: true, openWorldHint: false })
    assert.deepEqual(tool['_meta'], { 'example.com/rank': 7 })
  },
  'lists.schema': async ({ peer, offer }) => {
    const tools = await listAll(peer, 'tools/list', 'tools', true)
    const schema = tools.find(({ name }) => name === needed(offer.schema))?.['inputSchema']
    for (const keyword of ['$defs', '$anchor', 'allOf', 'anyOf', '"if"', '"then"', 'additionalProperties'])
      assert.ok(shown(schema).includes(keyword), `${keyword} is gone`)
  },
  'lists.caching': async ({ peer }) => {
    for (const [, method] of Object.entries(METHODS)) {
      const page = await peer.request(method, {}, { raw: true })
      assert.equal(typeof page['ttlMs'], 'number', `${method} says no ttlMs`)
      assert.ok(['public', 'private'].includes(String(page['cacheScope'])), `${method} says no cacheScope`)
    }
  },
  'lists.legacy-form': async ({ peer }) => {
    const page = await peer.request('tools/list', {}, { raw: true })
    for (const member of ['ttlMs', 'cacheScope', 'resultType'])
      assert.ok(!(member in page), `${member} is of the other era`)
  },
}
