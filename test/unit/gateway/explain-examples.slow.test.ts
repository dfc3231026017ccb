import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parseEnv } from 'node:util'
import type { Upstream } from '../../../src/api/index.ts'
import { loadConfig, type LoadedConfig } from '../../../src/config/index.ts'
import type { Explanation } from '../../../src/gateway/explain.ts'
import { makeGateway, type Gateway } from '../../../src/gateway/gateway.ts'
import { compareConfigs, snapshotConfig, createPlaceholder, type ConfigSnapshot } from '../../../src/gateway/plan.ts'
import { createLog } from '../../../src/util/log.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { ROOT } from '../../guard/sources.ts'

const TOOLS = ['read_file', 'write_file', 'search_nodes', 'delete_entities'].map(name => ({
  name,
  description: `does ${name}`,
  inputSchema: { type: 'object' },
}))
const SALT = 'salt'

function load(file: string): Promise<LoadedConfig> {
  const variables = join(dirname(file), '.env.example')
  const environment = existsSync(variables) ? parseEnv(readFileSync(variables, 'utf8')) : {}
  return loadConfig({ file, cwd: dirname(file), environment })
}

/** The gateway of an example, with servers that only list. */
async function built(t: TestContext, source: LoadedConfig): Promise<Gateway> {
  const { audit: _audit, activity: _activity, ...config } = source.config
  const loaded = { ...source, config: { ...config, listeners: {} } }
  const log = createLog({ level: 'error', format: 'json', write: () => undefined })
  const upstream = (
    ...[spec, context]: [Parameters<typeof createPlaceholder>[0], Parameters<typeof createPlaceholder>[1]]
  ): Upstream => createPlaceholder(spec, context, TOOLS)
  const gateway = await makeGateway(loaded, { log, environment: process.env, ephemeral: true }, upstream)
  cleanup(t, () => gateway.close())
  return gateway
}

async function explained(gateway: Gateway, tool: string, as: string | undefined): Promise<Explanation> {
  const asked = { tool, arguments: { path: '/tmp' }, ...(as === undefined ? {} : { as }) }
  return (await gateway.control('explain', asked)) as unknown as Explanation
}

for (const file of globSync('examples/**/gateway.yaml', {
  cwd: ROOT,
  exclude: ['**/node_modules/**'],
}).sort()) {
  const skip = file.includes('sandbox') && process.platform !== 'linux'

  test(`every tool of ${file} is explained to the end, for every caller that it knows`, { skip }, async t => {
    const source = await load(join(ROOT, file))
    const gateway = await built(t, source)
    const { tools, servers } = await snapshotConfig(gateway.generation, SALT, source.config)
    const callers = [undefined, ...(source.config.auth?.keys ?? []).map(({ name }) => `key:${name}`)]

    const prefixed = servers.flatMap(({ name }) => TOOLS.map(tool => `${name}__${tool.name}`))
    for (const tool of new Set([...tools.map(({ name }) => name), ...prefixed, 'nobody_has_it']))
      for (const as of callers) {
        const { outcome, steps } = await explained(gateway, tool, as)
        assert.ok(['server', 'answered', 'refused', 'asked'].includes(outcome.what), tool)
        assert.ok(outcome.text.length > 0 && outcome.by.length > 0)
        if (outcome.what === 'server') assert.equal(steps.at(-1)?.at, 'server', JSON.stringify(steps))
        if (tool === 'nobody_has_it') assert.equal(outcome.what, 'refused')
      }
  })

  test(`a plan of ${file} with itself changes nothing, and finds a server that goes`, { skip }, async t => {
    const source = await load(join(ROOT, file))
    const plannedFor = async (loaded: LoadedConfig): Promise<ConfigSnapshot> =>
      snapshotConfig((await built(t, loaded)).generation, SALT, loaded.config)
    const now = await plannedFor(source)
    const same = compareConfigs(now, await plannedFor(source))

    assert.equal(same.changes, false, JSON.stringify(same))
    const { servers, tools } = compareConfigs(now, { ...now, servers: now.servers.slice(1), tools: [] })
    assert.deepEqual(
      servers.stopped,
      now.servers.slice(0, 1).map(({ name }) => name),
    )
    assert.equal(tools.removed.length, now.tools.length)
  })
}
