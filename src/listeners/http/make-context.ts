import { randomUUID } from 'node:crypto'
import type { ListenerContext } from '../../api/index.ts'
import { Callers } from '../client/session-quota.ts'
import { HeldBytes } from '../../transport/held-bytes.ts'
import { InFlight } from '../../transport/id-map.ts'
import { LegacySessions } from './mcp/legacy-sessions.ts'
import { SseStreams } from './sse-writer.ts'
import { Conversations } from './sse/open-connections.ts'
import type { HttpContext } from './context.ts'
import type { HttpSettings } from './listener-settings.ts'
import { Standing } from './reauthenticate.ts'
import { UnreadBytes } from './body/unread-bytes.ts'

/** What the requests of a new listener share. */
export function makeContext(context: ListenerContext, settings: HttpSettings): HttpContext {
  const { name, gate, log, clock } = context
  const unread = new UnreadBytes(settings.held)
  const callers = new Callers(settings.maxSessionsEach)
  const httpContext: HttpContext = {
    name,
    gate,
    log,
    clock,
    settings,
    endpoint: '',
    standing: new Standing(gate, clock),
    sessions: sessionsOf(context, callers, () => httpContext),
    callers,
    streams: new SseStreams(clock, unread),
    bodies: new HeldBytes(settings.held),
    unread,
    posts: new InFlight(),
    pipes: new Conversations(clock, settings.idleMs),
    eventStreams: new Map(),
    own: randomUUID(),
    conversations: 0,
    lastPost: 0,
    isStopping: false,
    hasToldOfLoss: false,
  }
  return httpContext
}

function sessionsOf(
  context: ListenerContext,
  callers: Callers,
  httpContext: () => HttpContext,
): LegacySessions {
  return new LegacySessions({
    ...context,
    callers,
    get idleMs() {
      return httpContext().settings.idleMs
    },
    // All clients share one bound, however they came.
    get max() {
      return httpContext().settings.maxSessions - httpContext().pipes.size
    },
  })
}
