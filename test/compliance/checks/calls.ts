import assert from 'node:assert/strict'
import { call, listAll, needed, refusal, shown, succeeds, textOf } from './check.ts'
import type { Check } from './check.ts'
import type { Json } from '../matrix/peer.ts'

const LARGE = 'ä'.repeat(200_000)
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

function typesOf(result: Json): string[] {
  return (result['content'] as { type: string }[]).map(({ type }) => type)
}

/** Calls, prompts, resources and completion. */
export const CALLS: Record<string, Check> = {
  'tools.text': async ({ peer, offer }) => void (await succeeds(peer, offer.text)),
  'tools.image': async ({ peer, offer }) => {
    assert.ok(typesOf(await succeeds(peer, needed(offer.image))).includes('image'))
  },
  'tools.audio': async ({ peer, offer }) => {
    assert.deepEqual(typesOf(await succeeds(peer, needed(offer.audio))), ['audio'])
  },
  'tools.embedded': async ({ peer, offer }) => {
    assert.ok(typesOf(await succeeds(peer, needed(offer.embedded))).includes('resource'))
  },
  'tools.mixed': async ({ peer, offer }) => {
    assert.ok(typesOf(await succeeds(peer, needed(offer.mixed))).length > 1)
  },
  'tools.link': async ({ peer, offer }) => {
    assert.ok(typesOf(await succeeds(peer, needed(offer.link))).includes('resource_link'))
  },
  'tools.structured': async ({ peer, offer }) => {
    const { name, value, ...rest } = needed(offer.structured)
    const tools = await listAll(peer, 'tools/list', 'tools')
    assert.ok(tools.find(tool => tool['name'] === name)?.['outputSchema'], 'no outputSchema is listed')
    const result = await succeeds(peer, { name, ...rest })
    assert.deepEqual(result['structuredContent'], value)
  },
  'tools.failure': async ({ peer, offer }) => {
    const result = await call(peer, needed(offer.failing))
    assert.equal(result['isError'], true)
    assert.match(textOf(result), needed(offer.failing?.says))
  },
  'tools.large': async ({ peer, offer }) => {
    const { name, says } = offer.echo
    const result = await succeeds(peer, { name, arguments: { message: LARGE } })
    assert.equal(textOf(result), says(LARGE))
  },
  'tools.parallel': async ({ peer, offer }) => {
    const { name, says } = offer.echo
    const messages = Array.from({ length: 60 }, (_, index) => `m${index} \u2028 "\\ 😀`)
    const results = await Promise.all(messages.map(message => succeeds(peer, { name, arguments: { message } })))
    assert.deepEqual(results.map(textOf), messages.map(says))
  },
  'tools.unknown-fields': async ({ peer, offer }) => {
    const result = await call(peer, needed(offer.vendor), { raw: true })
    assert.deepEqual(result['vendorTop'], { deep: true })
    assert.equal((result['_meta'] as Json)['example.com/result'], 'kept')
    const [block] = result['content'] as Json[]
    assert.deepEqual(block?.['annotations'], { audience: ['user'], priority: 0.5 })
    assert.deepEqual(block?.['_meta'], { 'example.com/block': true })
  },
  'tools.request-meta': async ({ peer, offer }) => {
    const _meta = { 'example.com/trace': 'kept', traceparent: TRACE }
    const result = await peer.request('tools/call', { name: needed(offer.meta).name, arguments: {}, _meta })
    const got = JSON.parse(textOf(result)) as Json
    assert.equal(got['example.com/trace'], 'kept')
    assert.match(String(got['traceparent']), /^00-0af7651916cd43dd8448eb211c80319c-/)
  },
  'tools.mirrored-header': async ({ peer, offer }) => {
    // Clients learn from the list which arguments they must mirror.
    await listAll(peer, 'tools/list', 'tools')
    await succeeds(peer, needed(offer.headers))
  },
  'prompts.simple': async ({ peer, offer }) => {
    const { name, says } = offer.prompt
    assert.match(shown(await peer.request('prompts/get', { name })), needed(says))
  },
  'prompts.arguments': async ({ peer, offer }) => {
    const { name, arguments: args, says } = offer.promptArguments
    assert.match(shown(await peer.request('prompts/get', { name, arguments: args })), needed(says))
  },
  'prompts.missing-argument': async ({ peer, offer }) => {
    const code = await refusal(peer.request('prompts/get', { name: offer.promptArguments.name, arguments: {} }))
    assert.ok([-32602, -32603].includes(code), `it was refused with ${code}`)
  },
  'prompts.embedded': async ({ peer, offer }) => {
    const { name, arguments: args, says } = needed(offer.promptEmbedded)
    assert.match(shown(await peer.request('prompts/get', { name, arguments: args })), needed(says))
  },
  'prompts.image': async ({ peer, offer }) => {
    const { name, says } = needed(offer.promptImage)
    assert.match(shown(await peer.request('prompts/get', { name })), needed(says))
  },
  'resources.text': async ({ peer, offer }) => {
    const { contents } = await peer.request('resources/read', { uri: offer.resource.uri })
    const [first] = contents as { uri: string; text: string }[]
    assert.equal(first?.uri, offer.resource.uri)
    assert.match(first.text, offer.resource.says)
  },
  'resources.binary': async ({ peer, offer }) => {
    const { contents } = await peer.request('resources/read', { uri: offer.binary.uri })
    assert.equal(typeof (contents as { blob: string }[])[0]?.blob, 'string')
  },
  'resources.template': async ({ peer, offer }) => {
    const { contents } = await peer.request('resources/read', { uri: offer.template.uri })
    assert.match(shown(contents), offer.template.says)
  },
  'completion.prompt': async ({ peer, offer }) => {
    const { prompt, argument, typed, values } = offer.completion
    const ref = { type: 'ref/prompt', name: prompt }
    const { completion } = await peer.request('completion/complete', {
      ref,
      argument: { name: argument, value: typed },
    })
    assert.deepEqual((completion as Json)['values'], values)
  },
  'completion.context': async ({ peer, offer }) => {
    const { prompt, argument, given, values } = needed(offer.completionContext)
    const params = {
      ref: { type: 'ref/prompt', name: prompt },
      argument: { name: argument, value: '' },
      context: { arguments: given },
    }
    const { completion } = await peer.request('completion/complete', params)
    assert.deepEqual((completion as Json)['values'], values)
  },
  'completion.template': async ({ peer, offer }) => {
    const { template, argument, typed, values } = offer.completionTemplate
    const ref = { type: 'ref/resource', uri: template }
    const { completion } = await peer.request('completion/complete', {
      ref,
      argument: { name: argument, value: typed },
    })
    assert.deepEqual((completion as Json)['values'], values)
  },
}
