import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway } from '../../../src/testing/index.ts'
import { taskServer } from '../../fixtures/tasks.ts'
import { begin, DECLARED, until } from '../tasks/setting.ts'

/** Words with which a job of the fixture fails, which are a credential of the gateway's here. */
const CREDENTIAL = 'the job broke'

for (const era of ['modern', 'legacy'] as const)
  test(`no way to the error of a ${era} task shows its credential to a ${era} client`, async t => {
    const { url } = closeAfter(t, await taskServer(era))
    const jobs = { type: 'http', url, prefix: '', headers: { 'x-key': CREDENTIAL } }
    const gateway = closeAfter(t, await testGateway({ config: { upstreams: { jobs } } }))
    const capabilities = era === 'modern' ? DECLARED : {}
    const client = closeAfter(t, await testClient(gateway, { era, capabilities }))

    const taskId = await begin(client, 'protocol_error_job')
    const state = await until(client, taskId, 'failed')
    const more = era === 'modern' ? [] : [client.request('tasks/result', { taskId }), client.request('tasks/list')]
    const text = JSON.stringify([state, ...(await Promise.all(more))])

    assert.equal(state.status, 'failed')
    assert.doesNotMatch(text, new RegExp(CREDENTIAL))
    assert.match(text, /\*\*\*/)
  })
