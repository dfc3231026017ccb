import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { gatewayError } from '../errors/errors.ts'
import { makeDirectory } from '../util/storage/files.ts'
import type { Terminal } from './output/terminal.ts'

const KEY_NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/
const SCOPE_NAME = /^[!#-[\]-~]{1,128}$/

/** Prefix for secret scanners. */
const KEY_PREFIX = 'gwk_'
const KEY_BYTES = 32

interface NewKey {
  readonly name: string
  readonly key: string
  readonly hash: string
  readonly scopes: readonly string[]
}

/**
 * Creates a key from 256 random bits, which need only one round of SHA-256.
 * @throws GatewayError GW_USAGE if the name or a scope is invalid
 */
export function createKey(name: string, scopes: readonly string[]): NewKey {
  if (!KEY_NAME.test(name))
    throw gatewayError('GW_USAGE', {
      what: `"${name}" is not a valid key name: use at most 64 letters, digits and . _ @ -`,
    })
  const odd = scopes.find(scope => !SCOPE_NAME.test(scope))
  if (odd !== undefined) throw gatewayError('GW_USAGE', { what: `"${odd}" is not a valid scope` })
  const key = `${KEY_PREFIX}${randomBytes(KEY_BYTES).toString('base64url')}`
  return { name, key, hash: `sha256:${createHash('sha256').update(key).digest('hex')}`, scopes }
}

export function formatKey({ name, key, hash, scopes }: NewKey, { out }: Terminal): string[] {
  const may = scopes.length === 0 ? '' : `, scopes: ${JSON.stringify(scopes)}`
  return [
    out.paint('dim', 'API key, shown only once:'),
    `  ${key}`,
    out.paint('dim', 'For auth.keys in gateway.yaml:'),
    `  - { name: ${JSON.stringify(name)}, hash: ${JSON.stringify(hash)}${may} }`,
    out.paint('dim', 'Or as a line of auth.keysFile:'),
    `  ${[name, hash, ...scopes].join(' ')}`,
  ]
}

/** Files of a new plugin. NAME, DIRECTORY and VERSION (of the gateway) are replaced. */
const PLUGIN_TEMPLATE: Readonly<Record<string, string>> = {
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
  /** Denied tools, by exposed name. */
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
      deny: { type: 'array', items: { type: 'string' }, description: 'Denied tools, by exposed name.' },
    },
  },

  // Prepare lookups here, once; a tap runs for every request of its methods.
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
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from 'tapgate/testing'

/** Starts a server with two tools, a gateway with this plugin, and a client. */
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
  assert.equal(web.listCalls('tools/call').length, 0)
})

test('other tools can be called', async t => {
  const { client } = await start(t, { deny: ['web__drop'] })

  const { result } = await client.request('tools/call', { name: 'web__search', arguments: {} })

  assert.deepEqual(result?.content, [{ type: 'text', text: 'found' }])
})

test('options that do not fit the schema stop the start', async t => {
  await assert.rejects(start(t, { deny: 'web__drop' }), { code: 'GW_PLUGIN_OPTIONS' })
})
`,

  'README.md': `# NAME

A gateway plugin that refuses calls to the listed tools. Enable it in \`gateway.yaml\`:

\`\`\`yaml
plugins:
  NAME:
    use: ./DIRECTORY/index.ts
    options: { deny: [web__drop] }
\`\`\`

Test it with \`npm test --prefix DIRECTORY\`, on Node 22.19 or later. There is no build step. \`gateway plugin new\` linked its
gateway into \`node_modules\` if the package was not installed; a fresh clone needs \`npm install\`.
`,
}

const PLUGIN_NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/

const MAX_NAME_LENGTH = 64

interface NewPluginOptions {
  readonly name: string
  /** Parent directory. */
  readonly dir: string
  readonly force: boolean
  readonly cwd: string
  /** Package of the gateway. */
  readonly own: { readonly name: string; readonly version: string; readonly root: string }
}

interface NewPlugin {
  readonly name: string
  /** Relative to the working directory, with forward slashes. */
  readonly directory: string
  readonly files: readonly string[]
}

/** Writes a plugin with a passing test. */
export async function createPlugin({ name, dir, force, cwd, own }: NewPluginOptions): Promise<NewPlugin> {
  await validateName(name)
  const target = resolve(cwd, dir, name)
  const directory = relative(cwd, target).split(sep).join('/')
  const files = Object.keys(PLUGIN_TEMPLATE)
  const inTheWay = files.find(file => existsSync(join(target, file)))
  if (inTheWay !== undefined && !force) throw gatewayError('GW_FILE_EXISTS', { file: `${directory}/${inTheWay}` })
  await makeDirectory(target)
  const replacements: Readonly<Record<string, string>> = {
    NAME: name,
    DIRECTORY: directory,
    VERSION: own.version,
  }
  for (const [file, text] of Object.entries(PLUGIN_TEMPLATE))
    await writeFile(
      join(target, file),
      text.replace(/NAME|DIRECTORY|VERSION/g, placeholder => replacements[placeholder] ?? placeholder),
    )
  await linkGateway(own.name, own.root, target)
  return { name, directory, files: files.map(file => `${directory}/${file}`) }
}

/** Links the gateway into node_modules unless it can be resolved. */
async function linkGateway(name: string, root: string, target: string): Promise<void> {
  try {
    createRequire(join(target, 'index.ts')).resolve(`${name}/plugin`)
  } catch {
    const link = join(target, 'node_modules', name)
    await makeDirectory(dirname(link))
    await rm(link, { force: true, recursive: true })
    await symlink(root, link, 'junction')
  }
}

export function formatPluginSteps({ name, directory, files }: NewPlugin, { out }: Terminal): string[] {
  return [
    ...files.map(file => `${out.paint('green', 'wrote')} ${file}`),
    '',
    out.paint('dim', 'Test it:'),
    `  npm test --prefix ${directory}`,
    out.paint('dim', 'Enable it in gateway.yaml:'),
    '  plugins:',
    `    ${name}:`,
    `      use: ./${directory}/index.ts`,
    '      options: { deny: [some__tool] }',
  ]
}

async function validateName(name: string): Promise<void> {
  if (!PLUGIN_NAME.test(name) || name.length > MAX_NAME_LENGTH) {
    throw gatewayError('GW_USAGE', {
      what: `"${name}" is not a valid plugin name: use lower-case letters, digits and single dashes`,
    })
  }
  const { builtins } = await import('../gateway/builtins.ts')
  if (builtins.some(builtin => builtin.name === name)) {
    throw gatewayError('GW_USAGE', { what: `"${name}" is the name of a built-in plugin` })
  }
}
