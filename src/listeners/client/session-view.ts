import type { Principal, Session } from '../../api/index.ts'
import { authorizationKey } from '../../plugin.ts'

/** A session as one request of its caller sees it: he may come with another token, whose scopes are for that request alone. */
export function seenBy(session: Session, caller: Principal): Session {
  if (authorizationKey(session.principal) === authorizationKey(caller)) return session
  return Object.create(session, { principal: { value: caller, enumerable: true } }) as Session
}
