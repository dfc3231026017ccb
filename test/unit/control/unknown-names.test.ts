import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/plugin.ts'
import { agentsSetting } from '../plugins/agents/setting.ts'

const HTTP = { type: 'http', url: 'http://127.0.0.1:9/mcp', start: 'lazy' }

/** Verbs that take a name, each with one that is nearly right, and the error that names the right one. */
const WRONG: readonly (readonly [verb: string, params: JsonObject, code: string, meant: string])[] = [
  ...['start', 'stop', 'restart', 'logs', 'definitions'].map(
    verb => [`upstream.${verb}`, { upstream: 'memry' }, 'GW_UPSTREAM_UNKNOWN', 'memory'] as const,
  ),
  ['cache.ls', { upstream: 'memry' }, 'GW_UPSTREAM_UNKNOWN', 'memory'],
  ['cache.purge', { upstream: 'memry' }, 'GW_UPSTREAM_UNKNOWN', 'memory'],
  ['catalogue.forget', { upstream: 'memry' }, 'GW_UPSTREAM_UNKNOWN', 'memory'],
  ['login.begin', { upstream: 'hubb' }, 'GW_UPSTREAM_UNKNOWN', 'hub'],
  ['login.logout', { upstream: 'hubb' }, 'GW_UPSTREAM_UNKNOWN', 'hub'],
  ['agents.probe', { agents: ['ada', 'reviewr'] }, 'GW_AGENT_UNKNOWN', 'reviewer'],
  ['agents.run', { prompt: 'x', agent: 'reviewr' }, 'GW_AGENT_UNKNOWN', 'reviewer'],
  ['listing', { client: 'cursor', profile: 'narow' }, 'GW_PROFILE_UNKNOWN', 'narrow'],
  ['explain', { tool: 'memory__x', profile: 'narow' }, 'GW_PROFILE_UNKNOWN', 'narrow'],
]

test('a verb about something that is not there is refused, and says what was probably meant', async t => {
  const setting = await agentsSetting(t)
  const { gateway } = await setting.start(
    { list: { ada: setting.agent(), reviewer: setting.agent() } },
    {
      upstreams: { memory: HTTP, hub: { ...HTTP, oauth: {} } },
      profiles: { narrow: { upstreams: ['memory'] } },
      state: { directory: join(setting.directory, 'state') },
    },
  )
  for (const [verb, params, code, meant] of WRONG)
    await assert.rejects(gateway.control(verb, params), { code, message: new RegExp(`did you mean "${meant}"`) }, verb)

  // A plugin's own upstream is one, too, and a pattern or a tag may fit nothing.
  for (const params of [{ upstream: 'agents' }, { name: 'nothing*' }, { tag: 'none' }])
    assert.equal((await gateway.control('cache.purge', params)).purged, 0, JSON.stringify(params))
  for (const verb of ['agents.status', 'agents.output', 'agents.reply', 'agents.cancel'])
    await assert.rejects(gateway.control(verb, { task: 'none' }), { code: 'GW_AGENT_TASK_UNKNOWN' }, verb)
})
