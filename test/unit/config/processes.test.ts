import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkProcesses } from '../../../src/config/checks/upstreams.ts'
import type { Finding } from '../../../src/util/finding.ts'
import { parseConfig } from '../../../src/config/index.ts'
import { getPlatform } from '../../../src/util/platform.ts'

const config = {
  upstreams: {
    a: { type: 'stdio', command: 'a', sandbox: 'bwrap', ceilings: { memory: '1GiB' } },
    b: { type: 'http', url: 'http://127.0.0.1:1/' },
  },
}

describe('what a system cannot do for server processes', () => {
  it('is a warning at the place that asks for it', () => {
    assert.deepEqual(found('linux'), [])
    assert.deepEqual(found('darwin'), ['/upstreams/a/sandbox'])
    assert.deepEqual(found('win32'), ['/upstreams/a/sandbox', '/upstreams/a/ceilings'])
  })

  function found(platform: NodeJS.Platform): string[] {
    const findings: Finding[] = []
    checkProcesses(config, getPlatform(platform), finding => findings.push(finding))
    assert.ok(findings.every(({ severity }) => severity === 'warning'))
    return findings.map(({ pointer }) => pointer)
  }
})

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
