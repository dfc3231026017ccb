import { Session } from 'node:inspector/promises'
import { pathToFileURL } from 'node:url'
import { testClient, testGateway } from '../../src/testing/index.ts'
import { ROOT } from './sources.ts'

/** A server that answers each line at once, so that its own work needs no function of the product. */
const SERVER = `
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } },
  'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'hello' }] },
}
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line)
  const result = results[method]
  const answer = result ? { result } : { error: { code: -32601, message: 'unknown' } }
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
})`

export interface CallCounts {
  /** The product's files of which a function runs. */
  readonly files: readonly string[]
  /** How often a function of the product is entered. */
  readonly entries: number
}

/** Counts one warm call from a modern client over HTTP to a server on a pipe: the fewest of twenty, after fifty others. */
export async function countCall(): Promise<CallCounts> {
  const web = { type: 'stdio', command: process.execPath, args: ['-e', SERVER] }
  await using gateway = await testGateway({ config: { upstreams: { web } } })
  await using client = await testClient(gateway)
  const once = (): Promise<unknown> => client.request('tools/call', { name: 'web__echo', arguments: {} })
  for (let i = 0; i < 50; i++) await once()
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const counts: CallCounts[] = []
  for (let i = 0; i < 20; i++) {
    await session.post('Profiler.takePreciseCoverage')
    await once()
    counts.push(await readCoverage(session))
  }
  // Timers may run during a call.
  return counts.reduce((fewest, one) => (one.entries < fewest.entries ? one : fewest))
}

async function readCoverage(session: Session): Promise<CallCounts> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const root = pathToFileURL(ROOT).href
  const scripts = result
    .filter(({ url }) => url.startsWith(root))
    .map(({ url, functions }) => ({
      file: url.slice(root.length),
      entries: functions.reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0),
    }))
    .filter(({ file, entries }) => entries > 0 && /^(src\/(?!testing\/)|plugins\/)/.test(file))
  return {
    files: scripts.map(({ file }) => file).sort(),
    entries: scripts.reduce((sum, { entries }) => sum + entries, 0),
  }
}
