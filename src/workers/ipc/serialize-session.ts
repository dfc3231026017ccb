import { PipelineSession } from '../../core/session.ts'
import type { JsonObject, Notification, Session, SessionInit } from '../../api/index.ts'

/** A session as another process needs to know it. */
export function writeSession({ id, listener, principal, client, label, profile }: Session): JsonObject {
  return { id, listener, principal, client, label, profile }
}

/** The same there. Who may write to the line is one of us, so what it says of the caller has been verified. */
export function readSession(written: unknown, notify: (notification: Notification) => boolean): Session {
  return new PipelineSession({ ...(written as Omit<SessionInit, 'notify'>), notify })
}
