import type { ClientSide, Notification, Principal, Session, SessionInit } from './ports.ts'

/** One client's conversation. */
export class RoadSession implements Session {
  readonly id: string
  readonly listener: string
  principal: Principal
  readonly label: string | undefined
  readonly profile: string | undefined
  readonly slots: unknown[] = []
  client: ClientSide
  readonly notify: (notification: Notification) => boolean

  constructor(init: SessionInit) {
    this.id = init.id
    this.listener = init.listener
    this.principal = init.principal
    this.client = init.client
    this.label = init.label
    this.profile = init.profile
    this.notify = init.notify
  }
}
