import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { TLSSocket } from 'node:tls'
import type { Certificate } from '../../fixtures/certificates.ts'

/** An answer over TLS. */
export interface SecureReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Common name of the certificate that the server showed. */
  readonly server: string
}

interface SecureRequest {
  readonly ca: string
  readonly client?: Certificate | undefined
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Ends the request with the beginning of the answer. */
  readonly headOnly?: boolean
}

/** Sends one request on a connection of its own. */
export function secureFetch(
  url: string | URL,
  { ca, client, method = 'GET', headers = {}, body, headOnly }: SecureRequest,
): Promise<SecureReply> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ca, ...client, method, headers, agent: false }, response => {
      const { statusCode: status = 0, headers } = response
      const { socket } = response
      assert.ok(socket instanceof TLSSocket)
      const server = String(socket.getPeerCertificate().subject.CN)
      const done = (text: string): void => resolve({ status, headers, text, server })
      let text = ''
      response.on('data', (piece: Buffer) => {
        text += piece.toString()
        if (headOnly !== true) return
        done(text)
        sent.destroy()
      })
      response.on('end', () => done(text))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** A modern call of a tool, as a request. */
export function callOf(
  name: string,
  headers: Readonly<Record<string, string>> = {},
): Pick<SecureRequest, 'method' | 'headers' | 'body'> {
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: {}, _meta: META },
    }),
  }
}
