import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin } from '../../../fixtures/define-plugin.ts'
import { closeAfter, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { directoryFor } from './kit.ts'

/** Verbs of the gateway and of its own plugins that change something, or ask somebody. */
const ACT = [
  'activity.flush',
  'agents.cancel',
  'agents.probe',
  'agents.reply',
  'agents.run',
  'approvals.approve',
  'approvals.deny',
  'cache.purge',
  'catalogue.forget',
  'login.begin',
  'login.finish',
  'login.logout',
  'reload',
  'tasks.cancel',
  'ui.link',
  'upstream.restart',
  'upstream.start',
  'upstream.stop',
]

/** Verbs that only look, or whose request is a call of its own in an audit. */
const LOOK = [
  'agents.list',
  'agents.output',
  'agents.status',
  'agents.tasks',
  'approvals.list',
  'approvals.show',
  'cache.ls',
  'catalogue.list',
  'client.request',
  'cluster.replicas',
  'config',
  'explain',
  'fit.report',
  'health',
  'inspect',
  'listing',
  'login.list',
  'metrics',
  'plan.present',
  'ps',
  'tasks.list',
  'upstream.definitions',
  'upstream.logs',
]

/** Every section that adds verbs. Nobody answers at the address of Redis, which `cluster.replicas` says. */
const CONFIG = {
  shutdown: { grace: 10 },
  listeners: { main: { type: 'http', port: 0 } },
  activity: { file: 'activity.db' },
  agents: { list: { one: { command: process.execPath, args: ['--version'] } } },
  approve: { by: ['owner'] },
  cluster: {
    redis: 'redis://127.0.0.1:1',
    keys: [{ id: 'a', key: Buffer.alloc(32, 'secret').toString('base64') }],
  },
  fit: {},
  oauth: {},
  ui: {},
}

test('every verb is a line of an audit, or is known to only look', async t => {
  const recorded = new Set<string>()
  const hears = definePlugin({
    name: 'hears',
    setup({ hooks }) {
      hooks.auditEvent.tap(({ kind, name }) => void (kind === 'control' && recorded.add(name)))
    },
  })
  const web = closeAfter(t, await testUpstream({}))
  const directory = await directoryFor(t)
  const { gateway } = closeAfter(
    t,
    await testGateway({ upstreams: { web }, plugins: [hears], directory, config: CONFIG }),
  )
  const refusal: unknown = await gateway.control('no.such.verb').catch((error: unknown) => error)
  const known = /; known: ([\w., ]+)/.exec(String(refusal))?.[1]?.split(', ') ?? []
  recorded.clear()

  for (const verb of known) await gateway.control(verb, {}).catch(() => undefined)

  assert.deepEqual(known.toSorted(), [...ACT, ...LOOK].toSorted())
  assert.deepEqual([...recorded].toSorted(), ACT)
})
