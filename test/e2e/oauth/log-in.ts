import { setTimeout as passed } from 'node:timers/promises'
import type { Serving } from '../cli/run.ts'

/** The page that `gateway login` prints; undefined where it ends without one. */
export async function pageOf({ stderr, exit }: Pick<Serving, 'stderr' | 'exit'>): Promise<string | undefined> {
  for (;;) {
    const [page] = /https?:\/\/127\.0\.0\.1:\d+\/authorize\S*/.exec(stderr()) ?? []
    if (page !== undefined) return page
    if ((await Promise.race([exit, passed(20, 'runs')])) !== 'runs') return undefined
  }
}

/** Text of the answer to a call of `web__whoami`, with an API key where one is given. */
export async function callAs(url: string, key?: string): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'web__whoami',
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'web__whoami',
        arguments: {},
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  })
  return response.text()
}
