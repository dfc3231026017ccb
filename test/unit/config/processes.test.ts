import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseConfig } from '../../../src/config/index.ts'

describe('a sandbox', () => {
  it('is a word or a map, and the map has the defaults of the word', () => {
    const { config: loaded } = parseConfig(
      { upstreams: { a: { type: 'stdio', command: 'a', sandbox: { type: 'bwrap' } } } },
      { directory: '/' },
    )

    const { a } = loaded.upstreams
    assert.ok(a?.type === 'stdio' && typeof a.sandbox === 'object')
    assert.equal(a.sandbox.network, false)
    // An allow-list: nothing of the home is shown, so nothing of it has to be hidden.
    for (const key of ['read', 'write', 'hide'] as const) assert.deepEqual(a.sandbox[key], [])
  })
})
