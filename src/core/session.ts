import type {
  Ask,
  AskReply,
  ClientSide,
  Notification,
  Principal,
  Session,
  SessionInit,
} from '../api/index.ts'

/** The conversation behind what one request sees of it: a view has it for its prototype. */
export function baseOf(session: Session): Session {
  const behind = Object.getPrototypeOf(session) as Session | null
  return behind !== null && Object.hasOwn(behind, 'id') ? baseOf(behind) : session
}

/** One client's conversation. */
export class PipelineSession implements Session {
  readonly id: string
  readonly listener: string
  readonly principal: Principal
  readonly label: string | undefined
  readonly profile: string | undefined
  readonly slots: unknown[] = []
  client: ClientSide
  readonly notify: (notification: Notification) => boolean
  readonly ask: ((ask: Ask) => Promise<AskReply>) | undefined

  constructor(init: SessionInit) {
    this.id = init.id
    this.listener = init.listener
    this.principal = init.principal
    this.client = init.client
    this.label = init.label
    this.profile = init.profile
    this.notify = init.notify
    this.ask = init.ask
  }
}
