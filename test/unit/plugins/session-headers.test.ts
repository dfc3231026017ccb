import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sessionHeaders } from '../../../plugins/session-headers/index.ts'
import { callOf, exchangeOf, install, sessionOf } from './install.ts'

test('one session has one name, two sessions have two, and only listed upstreams learn it', async () => {
  const hooks = await install(sessionHeaders, { header: 'X-Session-ID', upstreams: ['web'] })
  const [ann, bob] = [sessionOf(), sessionOf()]
  const headersOf = (upstream: string, session = ann) => {
    const call = callOf(upstream, 'tools/call', {}, exchangeOf('tools/call', {}, session))
    hooks.getRunner('call', 'tools/call')?.(call)
    return call.headers
  }

  const first = headersOf('web')

  assert.match(first['x-session-id'] ?? '', /^client-[0-9a-f]{8}-[0-9a-f-]{27}$/)
  assert.deepEqual(headersOf('web'), first)
  assert.notDeepEqual(headersOf('web', bob), first)
  assert.deepEqual(headersOf('other'), {})
})

test('modern lists of one caller have one name, whichever request asks, and another caller another one', async () => {
  const hooks = await install(sessionHeaders, { header: 'X-Session-ID', upstreams: ['web'] })
  const nameFor = (session = sessionOf(), method = 'tools/list') => {
    const call = callOf('web', method, {}, exchangeOf(method, {}, session))
    hooks.getRunner('call', method)?.(call)
    return call.headers['x-session-id']
  }

  assert.match(nameFor() ?? '', /^client-[0-9a-f]{8}-[0-9a-f-]{27}$/)
  assert.equal(nameFor(), nameFor(sessionOf(), 'prompts/list'))
  assert.notEqual(nameFor(), nameFor(sessionOf('tester', 'bob')))
  const legacy = sessionOf('old', undefined, 'legacy')
  assert.equal(nameFor(legacy), nameFor(legacy, 'tools/call'))
})
