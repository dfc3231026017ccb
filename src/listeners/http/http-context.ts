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
export interface HttpContext {
  readonly name: string
  readonly gate: Gate
  readonly log: Log
  readonly clock: Clock
  /** Replaced on reload. */
  settings: HttpSettings
  /** MCP endpoint URL; empty until listening. */
  endpoint: string
  readonly sessions: LegacySessions
  /** Sessions and connections per caller. */
  readonly quota: SessionQuota
  readonly streams: SseStreams
  /** Bytes of large request bodies, answers and events in memory. */
  readonly memory: MemoryBudget
  readonly admission: Admission
  /** Modern requests by internal number. Legacy requests belong to their sessions. */
  readonly running: InFlight<InboundRequest>
  /** Long-lived responses. */
  readonly openStreams: OpenStreams
  /** Clients with a dedicated connection. */
  readonly connections: OpenConnections
  /** HTTP+SSE connections by session id. */
  readonly eventStreams: Map<string, PostedConversation>
  /** Random, makes session ids unique. */
  readonly instanceId: string
  lastRequest: number
  isStopping: boolean
  /** Forwards a request and its body to the process that owns the state; false if that is this process. */
  forward: ((arrival: Arrival, replicaId: string, body: Buffer) => Promise<boolean>) | undefined
  /** True after the warning about unlabelled modern clients was logged. */
  hasWarnedOfLoss: boolean
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

export function createHttpContext(listener: ListenerContext, settings: HttpSettings): HttpContext {
  const { name, gate, log, clock, peers } = listener
  const memory = new MemoryBudget(settings.maxHeld)
  const quota = new SessionQuota(settings.maxSessionsEach)
  const sessions = new LegacySessions({
    name,
    gate,
    log,
    clock,
    neighbours: peers,
    quota,
    get idleMs() {
      return context.settings.idleMs
    },
    // One limit covers all transports.
    get max() {
      return context.settings.maxSessions - context.connections.size
    },
  })
  const context: HttpContext = {
    name,
    gate,
    log,
    clock,
    settings,
    endpoint: '',
    sessions,
    quota,
    streams: new SseStreams(clock, memory),
    memory,
    admission: new Admission(settings.maxRequests, memory),
    running: new InFlight(),
    openStreams: new OpenStreams(gate, clock),
    connections: new OpenConnections(clock, settings.idleMs),
    eventStreams: new Map(),
    instanceId: randomUUID(),
    lastRequest: 0,
    isStopping: false,
    forward: undefined,
    hasWarnedOfLoss: false,
  }
  return context
}
