import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock, Gate, ListenerContext, Log } from '../../api/index.ts'
import { InFlight } from '../../protocol/rpc-peer.ts'
import { HeldBytes } from '../../transport/backlog.ts'
import { Admission } from '../client/admission.ts'
import type { InboundRequest } from '../client/inbound-request.ts'
import { OpenStreams } from './authenticate.ts'
import type { HttpSettings, ListenerEndpoint } from './listener-settings.ts'
import { LegacySessions } from './mcp/legacy-sessions.ts'
import type { PostedConversation } from './open-connections.ts'
import { OpenConnections, SessionQuota } from './open-connections.ts'
import type { RequestHeaders } from './request-guard.ts'
import { SseStreams } from './sse-writer.ts'

/** State that all requests of one HTTP listener share. */
export interface HttpContext {
  readonly name: string
  readonly gate: Gate
  readonly log: Log
  readonly clock: Clock
  /** Others after a reload. */
  settings: HttpSettings
  /** URL of the MCP endpoint, once it listens. */
  endpoint: string
  readonly sessions: LegacySessions
  /** Sessions and connections of each caller. */
  readonly quota: SessionQuota
  readonly streams: SseStreams
  /** Large request bodies until they are answered, and large answers and events until their readers have taken them. */
  readonly held: HeldBytes
  readonly admission: Admission
  /** Modern requests in the pipeline, by a number of our own; legacy ones belong to their sessions. */
  readonly running: InFlight<InboundRequest>
  /** Responses that stay open after their request was let in. */
  readonly openStreams: OpenStreams
  /** Clients with a connection of their own. */
  readonly connections: OpenConnections
  /** The event streams among them, by the id that lets their clients post. */
  readonly eventStreams: Map<string, PostedConversation>
  /** Of this listener alone, for ids that no other conversation has. */
  readonly instanceId: string
  /** The number of the last modern request. */
  lastRequest: number
  isStopping: boolean
  /** Hands a request that was read on to the process that has what it goes on with; false where that is this one. */
  forward: ((arrival: Arrival, place: string, body: Buffer) => Promise<boolean>) | undefined
  /** True if the log says already that modern clients lose what upstreams keep for a session. */
  hasWarnedOfLoss: boolean
}

/** One request to an endpoint of the listener, with its headers sorted. */
export interface Arrival {
  readonly context: HttpContext
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly headers: RequestHeaders
  /** Of its URL, without the query. */
  readonly path: string
  /** The endpoint of the listener that the path names; undefined for a plugin's path, or nobody's. */
  readonly endpoint: ListenerEndpoint | undefined
}

/** Makes the state of a new listener. */
export function createHttpContext(listener: ListenerContext, settings: HttpSettings): HttpContext {
  const { name, gate, log, clock, neighbours } = listener
  const held = new HeldBytes(settings.maxHeld)
  const quota = new SessionQuota(settings.maxSessionsEach)
  const sessions = new LegacySessions({
    name,
    gate,
    log,
    clock,
    neighbours,
    quota,
    get idleMs() {
      return context.settings.idleMs
    },
    // All clients share one bound, however they came.
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
    streams: new SseStreams(clock, held),
    held,
    admission: new Admission(settings.maxRequests, held),
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
