/** The files of a new plugin by name; NAME stands for its name, DIRECTORY for where it is, VERSION for that of the gateway. */
export const PLUGIN_TEMPLATE: Readonly<Record<string, string>> = {
  'package.json': `{
  "name": "NAME",
  "private": true,
  "type": "module",
  "scripts": { "test": "node --test index.test.ts" },
  "devDependencies": { "tapgate": "^VERSION" }
}
`,

  'index.ts': `import { refuse, RPC, type Plugin } from 'tapgate/plugin'

export interface Options {
  /** Tools nobody may call, by the names clients see. */
  deny: string[]
}

const plugin: Plugin<Options> = {
  name: 'NAME',

  // Checked before the gateway starts.
  schema: {
    type: 'object',
    required: ['deny'],
    additionalProperties: false,
    properties: {
      deny: { type: 'array', items: { type: 'string' }, description: 'Tools nobody may call, by the names clients see.' },
    },
  },

  // Read the options and prepare look-ups here, once; a tap runs on every request of its methods.
  setup({ options, hooks, log }) {
    const denied = new Set(options.deny)

    hooks.request.tap({ methods: ['tools/call'] }, exchange => {
      const tool = String(exchange.params?.name)
      if (!denied.has(tool)) return undefined
      log.info('refused a call', { tool })
      return refuse(RPC.invalidParams, \`\${tool} is not available\`)
    })
  },
}

export default plugin
`,

  'index.test.ts': `import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from 'tapgate/testing'

/** A server with two tools, the gateway with this plugin before it, and a client. */
async function start(t: TestContext, options: object) {
  const web = closeAfter(t, await testUpstream({ tools: { search: () => 'found', drop: () => 'gone' } }))
  const plugins = { 'NAME': { use: './index.ts', options } }
  const directory = import.meta.dirname
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config: { plugins }, directory }))
  const client = closeAfter(t, await testClient(gateway))
  return { web, client }
}

test('a denied tool never reaches its server', async t => {
  const { web, client } = await start(t, { deny: ['web__drop'] })

  const { error } = await client.request('tools/call', { name: 'web__drop', arguments: {} })

  assert.equal(error?.message, 'web__drop is not available')
  assert.equal(web.received('tools/call').length, 0)
})

test('every other tool is called as before', async t => {
  const { client } = await start(t, { deny: ['web__drop'] })

  const { result } = await client.request('tools/call', { name: 'web__search', arguments: {} })

  assert.deepEqual(result?.content, [{ type: 'text', text: 'found' }])
})

test('options that do not fit the schema stop the start', async t => {
  await assert.rejects(start(t, { deny: 'web__drop' }), { code: 'GW_PLUGIN_OPTIONS' })
})
`,

  'README.md': `# NAME

A plugin for the gateway: it refuses calls of the tools it is told. Enable it in \`gateway.yaml\`:

\`\`\`yaml
plugins:
  NAME:
    use: ./DIRECTORY/index.ts
    options: { deny: [web__drop] }
\`\`\`

Test it with \`npm test --prefix DIRECTORY\`, on Node 22.19 or later. There is no build step. \`gateway plugin new\` has linked the
gateway it belongs to into \`node_modules\` where nothing else provides it; a fresh clone needs \`npm install\` for that.
`,
}
