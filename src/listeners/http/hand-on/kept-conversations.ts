import type { KeptConversations } from '../../../api/index.ts'
import type { HttpContext } from '../context.ts'

/** Conversations of a listener as other processes see them. One over an event stream lives as long as that, and nobody goes on with it elsewhere. */
export function keptConversations({ sessions, eventStreams }: HttpContext): KeptConversations {
  return {
    get ids() {
      return sessions.ids
    },
    get idleMs() {
      return sessions.idleMs
    },
    has: id => sessions.has(id) || eventStreams.has(id),
    adopt: (id, record) => sessions.adopt(id, record),
    drop: id => sessions.drop(id),
  }
}
