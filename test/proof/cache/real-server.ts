import { createRequire } from 'node:module'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { createGateway } from '../../../src/index.ts'
import { median } from '../../bench/statistics.ts'

const SERVER = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
const ARGS = [SERVER, 'stdio']
const ECHO = { message: 'hi' }
const CALLS = 2000

/** All that an SDK client waits, in milliseconds at the median, for a published server's echo: asked directly, and kept. */
export async function echoes(): Promise<{ direct: number; hit: number }> {
  const client = new Client({ name: 'proof', version: '1' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: ARGS, stderr: 'ignore' }))
  const direct = await p50(() => client.callTool({ name: 'echo', arguments: ECHO }))
  await client.close()

  const everything = { type: 'stdio', command: process.execPath, args: ARGS }
  const gateway = await createGateway({
    upstreams: { everything },
    cache: { tools: { everything__echo: '1h' } },
  })
  const through = new Client({ name: 'proof', version: '1' })
  await through.connect(gateway.transport())
  const hit = await p50(() => through.callTool({ name: 'everything__echo', arguments: ECHO }))
  await through.close()
  await gateway.close()
  return { direct, hit }
}

async function p50(call: () => Promise<unknown>): Promise<number> {
  const took: number[] = []
  for (let i = 0; i < CALLS; i++) {
    const from = performance.now()
    await call()
    took.push(performance.now() - from)
  }
  return median(took)
}
