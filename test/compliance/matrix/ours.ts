import { createGateway } from '../../../src/index.ts'
import type { Gateway } from '../../../src/index.ts'
import { Ear } from './heard.ts'
import { capabilitiesOf } from './peer.ts'
import type { Around, Identity, Interest, Json, Peer, Place } from './peer.ts'
import { upstreamAt } from './servers.ts'
import { Wire } from './wire.ts'

const VERSION = '2026-07-28'
const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  info: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  server: 'io.modelcontextprotocol/serverInfo',
} as const

const ROUNDS = 10

/** A gateway inside this process, spoken to on its own pipe: our upstream side without a library on the way. */
export async function connectOurs(place: Place, identity: Identity): Promise<Peer> {
  const gateway = await createGateway(
    // Clients of the suite read every schema; `fit` is for those that cannot.
    { version: 1, log: { level: 'error' }, fit: false, upstreams: { it: upstreamAt(place) } },
    { environment: process.env },
  )
  try {
    return await greet(gateway, identity)
  } catch (error) {
    await gateway.close()
    throw error
  }
}

async function greet(gateway: Gateway, { answers }: Identity): Promise<Peer> {
  const heard = new Ear()
  const wire = new Wire(gateway.transport(), heard)
  await wire.start()
  const speaker = new Speaker(wire, { answers })
  const discovered = await speaker.request('server/discover', {}, {})
  const meta = (discovered['_meta'] ?? {}) as Json
  return {
    era: 'modern',
    version: VERSION,
    server: {
      info: (meta[META.server] ?? {}) as Json,
      capabilities: discovered['capabilities'] as Json,
      instructions: discovered['instructions'] as string | undefined,
    },
    heard,
    request: (method, params = {}, around = {}) => speaker.request(method, params, around),
    setLogLevel: async level => void (speaker.logLevel = level),
    watch: interest => speaker.watch(interest),
    close: async () => {
      await wire.close()
      await gateway.close()
    },
  }
}

/** The modern era by hand: per-request metadata, and asks answered by asking again. */
class Speaker {
  logLevel: string | undefined
  readonly #wire: Wire
  readonly #identity: Identity
  #tokens = 0

  constructor(wire: Wire, identity: Identity) {
    this.#wire = wire
    this.#identity = identity
  }

  async request(method: string, params: Json, around: Around, round = 0): Promise<Json> {
    const result = await this.#wire.request(method, this.#withMeta(params, around), around)
    if (result['resultType'] !== 'input_required') return result
    if (round === ROUNDS) throw new Error('the server never had enough')
    const inputResponses = await this.#answer((result['inputRequests'] ?? {}) as Record<string, Json>)
    const { requestState } = result
    const again = { ...params, inputResponses, ...(requestState === undefined ? {} : { requestState }) }
    return this.request(method, again, around, round + 1)
  }

  async watch({ lists = [], uris = [] }: Interest): Promise<() => Promise<void>> {
    const notifications: Json = { resourceSubscriptions: [...uris] }
    for (const list of lists) notifications[`${list}ListChanged`] = true
    const ended = new AbortController()
    const acknowledged = 'notifications/subscriptions/acknowledged'
    const before = this.#wire.heard.all(acknowledged).length
    const running = this.#wire.request('subscriptions/listen', this.#withMeta({ notifications }, {}), {
      signal: ended.signal,
    })
    running.catch(() => undefined)
    const told = this.#wire.heard.next(acknowledged, () => this.#wire.heard.all(acknowledged).length > before)
    await Promise.race([told, running])
    return async () => ended.abort()
  }

  async #answer(asks: Record<string, Json>): Promise<Json> {
    const entries = Object.entries(asks).map(async ([key, ask]) => {
      const answer = this.#identity.answers?.[String(ask['method'])]
      if (!answer) throw new Error(`asked for ${String(ask['method'])}, which was not declared`)
      return [key, await answer((ask['params'] ?? {}) as Json)] as const
    })
    return Object.fromEntries(await Promise.all(entries))
  }

  #withMeta(params: Json, { onProgress }: Around): Json {
    const own = {
      [META.version]: VERSION,
      [META.info]: { name: 'matrix-ours', version: '1.0.0' },
      [META.capabilities]: capabilitiesOf(this.#identity.answers),
      ...(this.logLevel === undefined ? {} : { [META.logLevel]: this.logLevel }),
      ...(onProgress ? { progressToken: `token-${++this.#tokens}` } : {}),
    }
    return { ...params, _meta: { ...(params['_meta'] as Json | undefined), ...own } }
  }
}
