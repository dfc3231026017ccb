import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { guardedFetch, type Lookup } from '../../../src/net/guarded-fetch.ts'
import type { Fetch } from '../../../src/api/index.ts'
import { systemClock } from '../../../src/util/clock.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { SILENT } from '../plugins/install.ts'
import { listenOn } from '../../fixtures/listen.ts'

/** Server that is public, and wants to know what is not. */
export const STRANGER = 'https://mcp.example.com/mcp'

/** Names that lead where their owner wants: here, into private networks, or both. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'here.example.com': ['127.0.0.1'],
  'here6.example.com': ['::1'],
  'mapped.example.com': ['::ffff:127.0.0.1'],
  'mixed.example.com': ['93.184.215.14', '127.0.0.1'],
  'any.example.com': ['0.0.0.0'],
  'any6.example.com': ['::'],
  'cloud.example.com': ['169.254.169.254'],
  'private.example.com': ['10.0.0.1'],
  localhost: ['127.0.0.1', '::1'],
  'localhost.': ['127.0.0.1', '::1'],
  'app.localhost': ['127.0.0.1'],
  'metadata.google.internal': ['169.254.169.254'],
  'ip6-localhost': ['::1'],
  'xn--lokal-kua.example.com': ['127.0.0.1'],
}

const lookup: Lookup = (name, _options, done) => {
  const found = NAMES[name]
  if (found === undefined) done(Object.assign(new Error(`ENOTFOUND ${name}`), { code: 'ENOTFOUND' }), [])
  else
    done(
      null,
      found.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
}

/** Servers of this machine that nobody from elsewhere may reach; counts who connects. */
export class Canaries {
  connections = 0
  readonly port: number
  static readonly addresses = ['127.0.0.1', '127.0.0.2', '::1']

  private constructor(port: number) {
    this.port = port
  }

  static async open(t: TestContext): Promise<Canaries> {
    let found: Canaries | undefined
    for (const address of Canaries.addresses) {
      const server = createServer((_, response) => response.end('{"secret":"canary"}'))
      server.on('connection', () => found !== undefined && found.connections++)
      server.listen(found?.port ?? 0, address)
      await once(server, 'listening')
      cleanup(t, () => {
        server.closeAllConnections()
        server.close()
      })
      found ??= new Canaries((server.address() as AddressInfo).port)
    }
    if (found === undefined) throw new Error('there is no canary')
    return found
  }
}

/** The guard with names of its own. */
export function opened(over: Partial<Parameters<typeof guardedFetch>[0]> = {}): Fetch {
  return guardedFetch({ clock: systemClock, log: SILENT, environment: {}, allowed: [], lookup, ...over })
}

/** A server of one handler. */
export async function serve(
  t: TestContext,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  return `http://127.0.0.1:${await listenOn(t, createServer(handle))}`
}

/** Code of the error that it ends with. */
export async function codeOf(attempt: Promise<unknown>): Promise<string | undefined> {
  try {
    await attempt
    return undefined
  } catch (error) {
    return (error as { code?: string }).code
  }
}
