import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { cleanup } from '../../fixtures/cleanup.ts'

/** A proxy that takes its prefix away, as `proxy_pass http://gateway/;` of nginx does. Returns its origin. */
export function strippingProxy(t: TestContext, target: string, prefix: string): Promise<string> {
  return proxy(t, target, path => (path.startsWith(prefix) ? path.slice(prefix.length) : undefined))
}

/** A proxy that hands paths on as they are, as `proxy_pass http://gateway;` does. */
export function keepingProxy(t: TestContext, target: string, prefix: string): Promise<string> {
  return proxy(t, target, path => (path.startsWith(prefix) ? path : undefined))
}

/** Passes the name of the target, as nginx does by itself. */
async function proxy(
  t: TestContext,
  target: string,
  pathOf: (path: string) => string | undefined,
): Promise<string> {
  const { hostname: host, port } = new URL(target)
  const server = createServer((request, response) => {
    const path = pathOf(request.url ?? '/')
    if (path === undefined) return void response.writeHead(404).end()
    const headers = { ...request.headers, host: `${host}:${port}` }
    const onward = send({ host, port, path, method: request.method, headers }, reply => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      response.flushHeaders()
      reply.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  cleanup(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
