import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock, Gate, ListenerContext, Log } from '../../api/index.ts'
import { InFlight } from '../../protocol/rpc-peer.ts'
import { MemoryBudget } from '../../net/backlog.ts'
import type { InboundRequest } from '../client/inbound-request.ts'
import { Admission } from '../client/inbound-request.ts'
import { OpenStreams, OpenConnections, SessionQuota } from './open-connections.ts'
import type { HttpSettings, ListenerEndpoint } from './listener-settings.ts'
import { LegacySessions } from './mcp/legacy-sessions.ts'
import type { PostedConversation } from './open-connections.ts'
import type { RequestHeaders } from './http-request.ts'
import { SseStreams } from './sse-writer.ts'

/** State shared by all requests to one HTTP listener. */
export class HttpContext {
  readonly name: string
  readonly gate: Gate
  readonly log: Log
  readonly clock: Clock
  /** Replaced on reload. */
  settings: HttpSettings
  /** MCP endpoint URL; empty until listening. */
  endpoint = ''
  readonly sessions: LegacySessions
  /** Sessions and connections per caller. */
  readonly quota: SessionQuota
  readonly streams: SseStreams
  /** Bytes of large request bodies, answers and events in memory. */
  readonly memory: MemoryBudget
  readonly admission: Admission
  /** Modern requests by internal number. Legacy requests belong to their sessions. */
  readonly running = new InFlight<InboundRequest>()
  /** Long-lived responses. */
  readonly openStreams: OpenStreams
  /** Clients with a dedicated connection. */
  readonly connections: OpenConnections
  /** HTTP+SSE connections by session id. */
  readonly eventStreams = new Map<string, PostedConversation>()
  /** Random, makes session ids unique. */
  readonly instanceId = randomUUID()
  lastRequest = 0
  isStopping = false
  /** Forwards a request and its body to the process that owns the state; false if that is this process. */
  forward: ((arrival: Arrival, replicaId: string, body: Buffer) => Promise<boolean>) | undefined = undefined
  /** True after the warning about unlabelled modern clients was logged. */
  hasWarnedOfLoss = false

  constructor({ name, gate, log, clock, peers }: ListenerContext, settings: HttpSettings) {
    this.name = name
    this.gate = gate
    this.log = log
    this.clock = clock
    this.settings = settings
    this.quota = new SessionQuota(settings.maxSessionsEach)
    this.memory = new MemoryBudget(settings.maxHeld)
    this.streams = new SseStreams(clock, this.memory)
    this.admission = new Admission(settings.maxRequests, this.memory)
    this.openStreams = new OpenStreams(gate, clock)
    this.connections = new OpenConnections(clock, settings.idleMs)
    this.sessions = new LegacySessions({
      ...{ name, gate, log, clock, quota: this.quota, neighbours: peers },
      idleMs: () => this.settings.idleMs,
      // One limit covers all transports.
      max: () => this.settings.maxSessions - this.connections.size,
    })
  }
}

/** One request to a listener, with parsed headers. */
export interface Arrival {
  readonly context: HttpContext
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly headers: RequestHeaders
  /** URL path without the query. */
  readonly path: string
  /** The matching endpoint; undefined for plugin paths and unknown paths. */
  readonly endpoint: ListenerEndpoint | undefined
}
