import type { Clock, Gate, Log, Session, SessionInit } from '../../api/index.ts'
import { type HeldBytes } from '../../transport/held-bytes.ts'
import type { InFlight } from '../../transport/id-map.ts'
import type { Callers } from '../client/session-quota.ts'
import type { UnreadBytes } from './body/unread-bytes.ts'
import type { HttpSettings } from './listener-settings.ts'
import type { LegacySessions } from './mcp/legacy-sessions.ts'
import type { Post } from './mcp/posted-request.ts'
import type { Standing } from './reauthenticate.ts'
import type { SseStreams } from './sse-writer.ts'
import type { Conversations } from './sse/open-connections.ts'
import type { SseChannel } from './sse/sse-channel.ts'

/** What all requests of one HTTP listener share. */
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
  /** How much each caller has of them, and of the conversations. */
  readonly callers: Callers
  readonly streams: SseStreams
  /** Request bodies, until they are answered. */
  readonly bodies: HeldBytes
  /** Answers and events that their readers have not taken. */
  readonly unread: UnreadBytes
  /** Requests in the pipeline, by a number of our own. */
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
  /** Whether the log says already that modern clients lose what upstreams keep for a session. */
  hasToldOfLoss: boolean
}

const NOBODY_LISTENS = (): boolean => false

/** What is known of a conversation that begins. */
interface Beginning extends Pick<SessionInit, 'client' | 'principal' | 'label' | 'profile'> {
  /** Default: a number of our own. */
  readonly id?: string
  /** Default: nobody listens outside the request. */
  readonly notify?: SessionInit['notify']
  /** Default: nobody can be asked outside the request. */
  readonly ask?: SessionInit['ask']
}

/** Opens a conversation with the core. */
export function openSession(context: HttpContext, beginning: Beginning): Promise<Session> {
  const { client, principal, label, profile, id, notify, ask } = beginning
  return context.gate.openSession({
    id: id ?? `${context.name}-${context.own}-${++context.conversations}`,
    listener: context.name,
    principal,
    client,
    label,
    profile,
    notify: notify ?? NOBODY_LISTENS,
    ask,
  })
}
