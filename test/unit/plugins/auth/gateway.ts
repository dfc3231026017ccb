import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { isObject, type JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testGateway, testUpstream, type TestGateway } from '../../../../src/testing/index.ts'
import type { Issuer } from '../../../proof/access/issuer.ts'

/** The URL that tokens are made for. */
export const RESOURCE = 'https://gateway.example/mcp'

export async function serve(t: TestContext, auth: JsonObject, more: JsonObject = {}): Promise<TestGateway> {
  const db = closeAfter(t, await testUpstream({ tools: { read: () => 'rows', drop: () => 'gone' } }))
  const listeners = { main: { type: 'http', port: 0, ws: { path: '/ws' } } }
  return closeAfter(t, await testGateway({ upstreams: { db }, config: { listeners, auth, ...more } }))
}

export function jwt(issuer: Issuer, more: JsonObject = {}): JsonObject {
  return { jwt: [{ issuer: issuer.url, jwks: issuer.jwks, ...more }], resource: RESOURCE }
}

const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

export function send(
  { url }: TestGateway,
  method: string,
  params: JsonObject,
  headers: Record<string, string>,
): Promise<Response> {
  const name: Record<string, string> = typeof params.name === 'string' ? { 'mcp-name': params.name } : {}
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...name,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: MODERN } }),
  })
}

export function call(gateway: TestGateway, tool: string, token?: string): Promise<Response> {
  return send(gateway, 'tools/call', { name: tool }, bearer(token))
}

export function bearer(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` }
}

export async function toolNames(gateway: TestGateway, token: string): Promise<string[]> {
  const reply = (await (await send(gateway, 'tools/list', {}, bearer(token))).json()) as JsonObject
  assert.ok(isObject(reply.result))
  return (reply.result.tools as { name: string }[]).map(({ name }) => name)
}
