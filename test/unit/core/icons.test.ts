import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

const UNSAFE = [
  'javascript:alert(1)',
  'JavaScript:alert(1)',
  ' java\nscript:alert(1)',
  'file:///etc/passwd',
  'ftp://host/icon.png',
  'ws://host/icon',
  'app://icon',
  'data:text/html,<script>',
  'icon.png',
  7,
]
const SAFE = ['https://host/icon.png', 'http://127.0.0.1/icon.png', 'data:image/png;base64,AAAA']

for (const era of ['modern', 'legacy'] as const)
  test(`a ${era} client gets no icon that runs code or reads files, and all others`, async t => {
    const icons = [...UNSAFE, ...SAFE].map(src => ({ src }))
    const web = closeAfter(
      t,
      await testUpstream({
        tools: {
          mixed: { icons, run: () => 'ok' },
          unsafe: { icons: [{ src: UNSAFE[0] }], run: () => 'ok' },
        },
        prompts: { mixed: { icons, run: () => 'ok' } },
        resources: { 'memo://mixed': { name: 'mixed', icons, text: 'ok' } },
      }),
    )
    const gateway = closeAfter(t, await testGateway({ upstreams: { web } }))
    const client = closeAfter(t, await testClient(gateway, { era }))

    for (const kind of ['tools', 'prompts', 'resources']) {
      const { result } = await client.request(`${kind}/list`)
      const entries = result?.[kind] as { name: string; icons?: { src: string }[] }[]
      const mixed = entries.find(({ name }) => name.endsWith('mixed'))
      assert.deepEqual(
        mixed?.icons?.map(({ src }) => src),
        SAFE,
        kind,
      )
      assert.equal(entries.find(({ name }) => name.endsWith('unsafe'))?.icons, undefined)
    }
  })
