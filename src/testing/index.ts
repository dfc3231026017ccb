/**
 * Test your configuration or plugin against the real gateway: real sockets on free ports, nothing mocked.
 *
 * ```ts
 * import { closeAfter, testClient, testGateway, testUpstream } from 'tapgate/testing'
 *
 * test('a denied tool never reaches the upstream', async t => {
 *   const web = closeAfter(t, await testUpstream({ tools: { search: () => 'found', drop: () => 'gone' } }))
 *   const config = { filters: { tools: { deny: ['*__drop'] } } }
 *   const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config }))
 *   const client = closeAfter(t, await testClient(gateway))
 *
 *   const reply = await client.request('tools/call', { name: 'web__drop' })
 *
 *   assert.equal(reply.error?.code, -32602)
 *   assert.equal(web.listCalls('tools/call').length, 0)
 * })
 * ```
 */
export {
  TestClock,
  closeAfter,
  testGateway,
  type TestLogLine,
  type TestGateway,
  type TestGatewayOptions,
} from './gateway.ts'
export { testClient, type TestClient } from './client.ts'
export type { TestReply, RequestOptions, RunningRequest, TestClientOptions } from './client.ts'
export type { ReceivedMessage } from './messages.ts'
export {
  testUpstream,
  type ReceivedCall,
  type TestContext,
  type TestPrompt,
  type TestResource,
  type TestTool,
  type TestUpstream,
} from './upstream.ts'
export { type TestUpstreamOptions } from './upstream-offer.ts'
