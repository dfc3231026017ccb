import { FIXTURE, FIXTURE_V2, PUBLISHED } from './offers.ts'
import type { Offer } from './offers.ts'
import { connectOurs } from './ours.ts'
import type { Answers, Era, Identity, Json, Peer, Place } from './peer.ts'
import { connectSdkV1 } from './sdk-v1.ts'
import { connectSdkV2 } from './sdk-v2.ts'
import { everythingFixture, gatewayBefore, publishedServer, sdkV1Fixture } from './servers.ts'
import type { Running } from './servers.ts'
import { COLUMNS, isMixed, WAYS } from './ways.ts'
import type { Transport, WayName } from './ways.ts'

interface Client {
  readonly era: Era
  readonly connect: (place: Place, identity: Identity) => Promise<Peer>
  /** A reason why it cannot go over this transport. */
  readonly without?: Partial<Record<Transport, string>>
}

interface Server {
  readonly eras: readonly Era[]
  readonly offer: Offer
  readonly start: (transport: Transport) => Promise<Running>
  readonly without?: Partial<Record<Transport, string>>
}

const OLD_ONLY = 'HTTP+SSE is of 2024-11-05 and has no modern form'
const NO_SSE = 'the server library has no HTTP+SSE'
const NO_WS = 'the library has no WebSocket'

/** The clients, by the name they have in the matrix. */
export const CLIENTS = {
  ours: { era: 'modern', connect: connectOurs },
  v1: { era: 'legacy', connect: connectSdkV1 },
  'v2-legacy': {
    era: 'legacy',
    connect: (place, identity) => connectSdkV2('legacy', place, identity),
    without: { ws: NO_WS },
  },
  'v2-modern': {
    era: 'modern',
    connect: (place, identity) => connectSdkV2('modern', place, identity),
    without: { sse: OLD_ONLY, ws: NO_WS },
  },
} as const satisfies Record<string, Client>

/** The servers, by the name they have in the matrix. */
export const SERVERS = {
  ours: { eras: ['legacy', 'modern'], offer: FIXTURE_V2, start: ourServer },
  v1: { eras: ['legacy'], offer: FIXTURE, start: sdkV1Fixture, without: { ws: NO_WS } },
  'v2-legacy': {
    eras: ['legacy'],
    offer: FIXTURE_V2,
    start: transport => everythingFixture('legacy', transport),
    without: { sse: NO_SSE, ws: NO_WS },
  },
  'v2-modern': {
    eras: ['modern'],
    offer: FIXTURE_V2,
    start: transport => everythingFixture('modern', transport),
    without: { sse: NO_SSE, ws: NO_WS },
  },
  'v2-dual': {
    eras: ['legacy', 'modern'],
    offer: FIXTURE_V2,
    start: transport => everythingFixture('dual', transport),
    without: { sse: NO_SSE, ws: NO_WS },
  },
  published: { eras: ['legacy'], offer: PUBLISHED, start: publishedServer, without: { ws: NO_WS } },
} as const satisfies Record<string, Server>

export type ClientName = keyof typeof CLIENTS
export type ServerName = keyof typeof SERVERS

/** One square of the matrix. */
export interface Cell {
  readonly client: ClientName
  readonly server: ServerName
  readonly transport: WayName
  readonly route: 'direct' | 'gateway'
}

/** One server of each era stands for all behind a gateway that changes the transport. */
const BEHIND_MIXED: ReadonlySet<ServerName> = new Set(['v1', 'v2-modern'])

/** Every square, sensible or not. */
export function allCells(): Cell[] {
  const clients = Object.keys(CLIENTS) as ClientName[]
  const servers = Object.keys(SERVERS) as ServerName[]
  return servers.flatMap(server =>
    clients.flatMap(client =>
      COLUMNS.filter(({ transport }) => !isMixed(transport) || BEHIND_MIXED.has(server)).map(column => ({
        client,
        server,
        ...column,
      })),
    ),
  )
}

/** `v1>v2-modern/http/gateway` */
export function nameOf({ client, server, transport, route }: Cell): string {
  return `${client}>${server}/${transport}/${route}`
}

export function offerOf(cell: Cell): Offer {
  return SERVERS[cell.server].offer
}

export function clientEra(cell: Cell): Era {
  return CLIENTS[cell.client].era
}

/** The era the server is spoken to in: the client's own when it can, since our upstream side prefers the modern one. */
export function serverEra(cell: Cell): Era {
  const eras: readonly Era[] = SERVERS[cell.server].eras
  const way = WAYS[cell.transport]
  if (way.server === 'sse') return 'legacy'
  if (eras.length === 1) return eras[0] ?? 'legacy'
  return cell.route === 'direct' && cell.client !== 'ours' ? clientEra(cell) : 'modern'
}

/** Why there is no such square, if so. */
export function absence(cell: Cell): string | undefined {
  const client: Client = CLIENTS[cell.client]
  const server: Server = SERVERS[cell.server]
  const way = WAYS[cell.transport]
  const without = client.without?.[way.client] ?? server.without?.[way.server]
  if (without !== undefined) return without
  const meets = cell.client === 'ours' || cell.route === 'gateway' || server.eras.includes(client.era)
  return meets
    ? undefined
    : `a ${client.era} client and a ${server.eras.join(' and ')} server need the gateway between them`
}

/** A cell with its server running. */
export class Site {
  readonly cell: Cell
  readonly #running: Running
  readonly #peers: Peer[] = []
  #overrides: Answers = {}
  #quiet: Promise<Peer> | undefined
  #swayed: Promise<Peer> | undefined

  constructor(cell: Cell, running: Running) {
    this.cell = cell
    this.#running = running
  }

  /** Address that the cell's clients connect to. */
  get place(): Place {
    return this.#running.place
  }

  /** Another client of the cell's kind. */
  async connect(identity: Identity): Promise<Peer> {
    const peer = await CLIENTS[this.cell.client].connect(this.#running.place, identity)
    this.#peers.push(peer)
    return peer
  }

  /** The client that declares nothing and answers nothing; checks share it, since each is a process on stdio. */
  quiet(): Promise<Peer> {
    this.#quiet ??= this.connect({})
    return this.#quiet
  }

  /** The client that answers as the last caller said. */
  swayed(answers: Answers): Promise<Peer> {
    this.#overrides = answers
    const methods = ['elicitation/create', 'sampling/createMessage', 'roots/list']
    const delegating = methods.map(method => [method, (params: Json) => this.#overrides[method]?.(params) ?? {}])
    this.#swayed ??= this.connect({ answers: Object.fromEntries(delegating) as Answers })
    return this.#swayed
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#peers.map(peer => peer.close()))
    await this.#running.stop()
  }
}

/** Starts what the cell needs. */
export async function open(cell: Cell): Promise<Site> {
  const way = WAYS[cell.transport]
  const server = await SERVERS[cell.server].start(way.server)
  if (cell.route === 'direct') return new Site(cell, server)
  try {
    return new Site(cell, await gatewayBefore(server, way.client))
  } catch (error) {
    await server.stop()
    throw error
  }
}

async function ourServer(transport: Transport): Promise<Running> {
  return gatewayBefore(await everythingFixture('dual', 'stdio'), transport)
}
