import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { ClientOptions } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Target } from './target.ts'

/** The era the client insists on; `auto` asks the server. */
export type ClientEra = 'legacy' | 'modern' | 'auto'

const MODES = { legacy: 'legacy', modern: { pin: '2026-07-28' }, auto: 'auto' } as const

/** Connects a client of SDK v2 in the given era. */
export async function connectV2(target: Target, era: ClientEra, options: ClientOptions = {}): Promise<Client> {
  const client = new Client(
    { name: `peer-v2-${era}`, version: '1.0.0' },
    { versionNegotiation: { mode: MODES[era] }, ...options },
  )
  const transport =
    'url' in target
      ? new StreamableHTTPClientTransport(new URL(target.url))
      : new StdioClientTransport({ stderr: 'ignore', ...target })
  await client.connect(transport)
  return client
}
