import type { Clock, Gate, Log, Session, SessionInit } from '../../core/ports.ts'
import type { Callers } from '../callers.ts'
import type { InFlight } from '../in-flight.ts'
import type { Conversations } from './conversations.ts'
import type { SseChannel } from './sse-channel.ts'
import type { LegacySessions } from '../legacy-sessions.ts'
import type { SseStreams } from '../sse-write.ts'
import type { Post } from './post.ts'
import type { HttpSettings } from './settings.ts'
import type { Standing } from './standing.ts'

/** What all requests of one HTTP listener share. */
export interface HttpEdge {
  readonly name: string
  readonly gate: Gate
  readonly log: Log
  readonly clock: Clock
  /** Others after a reload. */
  settings: HttpSettings
  /** URL of the MCP endpoint, once it listens. */
  endpoint: string
  readonly sessions: LegacySessions
  /** How much each caller has of them, and of the conversations. */
  readonly callers: Callers
  readonly streams: SseStreams
  /** Requests on the road, by a number of our own. */
  readonly posts: InFlight<Post>
  /** What stays open after its request was let in. */
  readonly standing: Standing
  /** Clients with a connection of their own. */
  readonly pipes: Conversations
  /** The event streams among them, by the id that lets their clients post. */
  readonly eventStreams: Map<string, SseChannel>
  /** Of this listener alone, for ids that no other conversation has. */
  readonly own: string
  /** Counts conversations that are one request long. */
  conversations: number
  /** The number of the last request. */
  lastPost: number
  isStopping: boolean
}

const NOBODY_LISTENS = (): boolean => false

/** What is known of a conversation that begins. */
interface Beginning extends Pick<SessionInit, 'client' | 'principal' | 'label' | 'profile'> {
  /** Default: a number of our own. */
  readonly id?: string
  /** Default: nobody listens outside the request. */
  readonly notify?: SessionInit['notify']
}

/** Opens a conversation with the core. */
export function openSession(edge: HttpEdge, beginning: Beginning): Promise<Session> {
  const { client, principal, label, profile, id, notify } = beginning
  return edge.gate.openSession({
    id: id ?? `${edge.name}-${edge.own}-${++edge.conversations}`,
    listener: edge.name,
    principal,
    client,
    label,
    profile,
    notify: notify ?? NOBODY_LISTENS,
  })
}
