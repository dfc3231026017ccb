import assert from 'node:assert/strict'
import { ANSWERS, call, needed, shown, succeeds } from './check.ts'
import type { Check } from './check.ts'
import type { Json } from '../matrix/peer.ts'

/** All that a server asks of its client in the middle of a call. */
export const ASKS: Record<string, Check> = {
  'asks.form': async ({ peer, offer }) => {
    const { fields, ...tool } = needed(offer.form)
    const said = shown(await succeeds(peer, tool))
    assert.match(said, /accept|provided/)
    for (const field of fields) assert.match(said, field === 'email' ? /ada@example/ : /ada/i)
  },
  'asks.form-declined': async ({ site, offer }) => {
    const peer = await site.swayed({ ...ANSWERS, 'elicitation/create': () => ({ action: 'decline' }) })
    assert.match(shown(await succeeds(peer, needed(offer.form))), /decline/)
  },
  'asks.form-cancelled': async ({ site, offer }) => {
    const peer = await site.swayed({ ...ANSWERS, 'elicitation/create': () => ({ action: 'cancel' }) })
    assert.match(shown(await succeeds(peer, needed(offer.form))), /cancel/)
  },
  'asks.form-schema': async ({ site, offer }) => {
    let asked: Json = {}
    const elicit = (params: Json) => {
      asked = params
      return { action: 'accept', content: {} }
    }
    const peer = await site.swayed({ ...ANSWERS, 'elicitation/create': elicit })
    await succeeds(peer, needed(offer.defaults))
    const defaults = shown(asked['requestedSchema'])
    for (const kept of ['"default":"John Doe"', '"default":30', '"default":95.5', '"default":true'])
      assert.ok(defaults.includes(kept), `${kept} is gone`)
    await succeeds(peer, needed(offer.enums))
    const enums = shown(asked['requestedSchema'])
    for (const kept of ['"enum"', '"oneOf"', '"enumNames"', '"anyOf"', '"minItems":1', '"title"'])
      assert.ok(enums.includes(kept), `${kept} is gone`)
  },
  'asks.url': async ({ site, offer }) => {
    let asked: Json = {}
    const elicit = (params: Json) => {
      asked = params
      return { action: 'accept' }
    }
    const peer = await site.swayed({ ...ANSWERS, 'elicitation/create': elicit })
    await succeeds(peer, needed(offer.url))
    assert.equal(asked['mode'], 'url')
    assert.equal(asked['url'], 'https://example.com/sign-in')
  },
  'asks.sampling': async ({ peer, offer }) => void (await succeeds(peer, needed(offer.sampling))),
  'asks.sampling-tools': async ({ peer, offer }) => void (await succeeds(peer, needed(offer.samplingTools))),
  'asks.roots': async ({ peer, offer }) => void (await succeeds(peer, needed(offer.roots))),
  'asks.many': async ({ peer, offer }) => void (await succeeds(peer, needed(offer.many))),
  'asks.rounds': async ({ peer, offer }) => void (await succeeds(peer, needed(offer.rounds))),
  'asks.prompt': async ({ peer, offer }) => {
    const { name, says } = needed(offer.promptAsking)
    assert.match(shown(await peer.request('prompts/get', { name, arguments: {} })), needed(says))
  },
  'asks.parallel': async ({ site, offer }) => {
    const formWith = needed(offer.formWith)
    const echo = ({ message }: Json) => ({
      action: 'accept',
      content: { username: String(message), email: 'a@b.c' },
    })
    const peer = await site.swayed({ ...ANSWERS, 'elicitation/create': echo })
    const messages = Array.from({ length: 8 }, (_, index) => `question-${index}`)
    const results = await Promise.all(messages.map(message => succeeds(peer, formWith(message))))
    for (const [index, result] of results.entries()) assert.match(shown(result), new RegExp(`question-${index}\\b`))
  },
  'asks.own-client': async ({ site, peer, offer }) => {
    const formWith = needed(offer.formWith)
    const named = (username: string) => ({
      ...ANSWERS,
      'elicitation/create': () => ({ action: 'accept', content: { username, email: 'a@b.c' } }),
    })
    const [one, two] = [peer, await site.swayed(named('second'))]
    const calls = Array.from({ length: 3 }, (_, index) => formWith(`q${index}`))
    const [firsts, seconds] = await Promise.all(
      [one, two].map(peer => Promise.all(calls.map(tool => succeeds(peer, tool)))),
    )
    for (const result of firsts ?? []) assert.match(shown(result), /ada@example/)
    for (const result of seconds ?? []) assert.match(shown(result), /second/)
  },
  'asks.undeclared': async ({ site, offer, clientEra }) => {
    const peer = await site.quiet()
    const outcome = await call(peer, needed(offer.undeclared)).then(
      result => (result['isError'] === true ? 'isError' : shown(result)),
      (error: unknown) => (error as { code?: unknown }).code,
    )
    const allowed = clientEra === 'modern' ? [-32021, 'isError'] : ['isError', -32021, -32603, -32602, -32600]
    assert.ok(allowed.includes(outcome as never), `it ended with ${String(outcome)}`)
    await succeeds(peer, offer.text)
  },
  'asks.refused': async ({ site, offer }) => {
    const fail = () => {
      throw Object.assign(new Error('the user is away'), { code: -32000 })
    }
    const peer = await site.swayed({ ...ANSWERS, 'sampling/createMessage': fail })
    const outcome = await call(peer, needed(offer.sampling)).then(
      result => result['isError'] === true,
      () => true,
    )
    assert.ok(outcome, 'the call succeeded without a response message')
    await succeeds(peer, offer.text)
  },
}
