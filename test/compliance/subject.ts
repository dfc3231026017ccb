import { fileURLToPath } from 'node:url'
import { startChild } from '../peers/child.ts'
import { serveHttpGateway } from '../peers/gateway.ts'

/** Something with an MCP endpoint, to be examined and then stopped. */
export interface Subject {
  url: string
  stop(): Promise<void>
}

const FIXTURE = fileURLToPath(new URL('../fixtures/everything.ts', import.meta.url))

/** The fixture server alone. One of both eras has tools that ask in the way of the legacy era alone, as many such servers have. */
export async function startFixture(era = 'dual'): Promise<Subject> {
  const child = startChild(FIXTURE, ['--port', '0', '--era', era, ...(era === 'dual' ? ['--pushing'] : [])])
  const url = await child.line(line => (JSON.parse(line) as { url?: string }).url)
  return { url, stop: () => child.stop() }
}

/** A gateway without prefix in front of the fixture server. */
export async function startGatewayBeforeFixture(era = 'dual'): Promise<Subject> {
  const fixture = await startFixture(era)
  try {
    const gateway = await serveHttpGateway({
      version: 1,
      // Clients of the suite read every schema; `fit` is for those that cannot.
      fit: false,
      listeners: { main: { type: 'http', port: 0 } },
      upstreams: { everything: { type: 'http', url: fixture.url, prefix: '' } },
    })
    return { url: gateway.url, stop: () => gateway.stop().finally(fixture.stop) }
  } catch (error) {
    await fixture.stop()
    throw error
  }
}
