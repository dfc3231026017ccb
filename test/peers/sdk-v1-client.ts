import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { ClientOptions } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Target } from './target.ts'

/** Connects a client of SDK v1, which speaks the legacy era only. */
export async function connectV1(target: Target, options: ClientOptions = {}): Promise<Client> {
  const client = new Client({ name: 'peer-v1', version: '1.0.0' }, options)
  const transport =
    'url' in target
      ? new StreamableHTTPClientTransport(new URL(target.url))
      : new StdioClientTransport({ stderr: 'ignore', ...target })
  await client.connect(transport)
  return client
}
