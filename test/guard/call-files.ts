import { Session } from 'node:inspector/promises'
import { pathToFileURL } from 'node:url'
import { testClient, testGateway, testUpstream } from '../../src/testing/index.ts'
import { ROOT } from './sources.ts'

/** Lists the product's files of which a function runs during one call from a client over HTTP to a server over HTTP, after fifty others. */
export async function listCallFiles(): Promise<string[]> {
  await using upstream = await testUpstream({ tools: { echo: () => 'hello' } })
  await using gateway = await testGateway({ upstreams: { web: upstream } })
  await using client = await testClient(gateway)
  const once = (): Promise<unknown> => client.request('tools/call', { name: 'web__echo', arguments: {} })
  for (let i = 0; i < 50; i++) await once()
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  await once()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const root = pathToFileURL(ROOT).href
  return result
    .filter(({ url, functions }) => url.startsWith(root) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .map(({ url }) => url.slice(root.length))
    .filter(file => /^(src\/(?!testing\/)|plugins\/)/.test(file))
    .sort()
}
