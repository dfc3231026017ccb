import type {
  Ask,
  AskReply,
  Choices,
  ClientDescription,
  IncomingRequest,
  Notification,
  Principal,
  Session,
  SessionInit,
} from '../api/index.ts'
import { ANONYMOUS, authorizationKey } from '../api/principal.ts'
import { MODERN_VERSION } from '../protocol/methods.ts'

type Viewer = Pick<Session, 'principal' | 'profile'>

/** Request-specific variants cached per session. */
const MAX_FORMS = 64

export class PipelineSession implements Session {
  readonly id: string
  readonly listener: string
  readonly principal: Principal
  readonly label: string | undefined
  readonly profile: string | undefined
  readonly directory: string | undefined
  readonly choices: Choices | undefined
  readonly slots: unknown[]
  readonly client: ClientDescription
  readonly notify: (notification: Notification) => boolean
  readonly ask: ((ask: Ask) => Promise<AskReply>) | undefined
  /** The base session; single requests see variants of it. */
  readonly root: PipelineSession
  #forms: Map<string | ClientDescription, PipelineSession> | undefined = undefined
  /** Calls that continue after their client was answered. */
  #backgroundCalls = 0
  #onIdle: (() => void) | undefined = undefined
  /** Time of `initialize`; undefined before, and for sessions without. */
  openedAt: number | undefined = undefined
  #endListeners: ((reason: string) => void)[] | undefined = undefined

  constructor(init: SessionInit, root?: PipelineSession) {
    this.id = init.id
    this.listener = init.listener
    this.principal = init.principal
    this.client = init.client
    this.label = init.label
    this.profile = init.profile
    this.directory = init.directory
    this.choices = init.choices
    this.notify = init.notify
    this.ask = init.ask
    this.slots = root === undefined ? [] : root.slots
    this.root = root ?? this
  }

  onEnd(listener: (reason: string) => void): void {
    ;(this.root.#endListeners ??= []).push(listener)
  }

  /** Runs the `onEnd` listeners; `report` receives their errors. */
  runEndListeners(reason: string, report: (error: unknown) => void): void {
    for (const listener of this.root.#endListeners ?? [])
      try {
        listener(reason)
      } catch (error) {
        report(error)
      }
  }

  /** Marks background work, with or without the client; returns a function that ends it. */
  beginWork(): () => void {
    const { root } = this
    root.#backgroundCalls++
    return () => {
      if (--root.#backgroundCalls === 0) root.#onIdle?.()
    }
  }

  /** Runs `end` when no background work is left. */
  runWhenIdle(end: () => void): void {
    const { root } = this
    if (root.#backgroundCalls === 0) end()
    else root.#onIdle = end
  }

  /** Returns the variant for a request with its own client info, label or scopes. */
  withInbound({ client, label, principal }: Pick<IncomingRequest, 'client' | 'label' | 'principal'>): PipelineSession {
    const named = label === undefined || label === this.label ? this : this.#getForm(label, { label })
    const form = client === undefined || client === this.client ? named : named.#getForm(client, { client })
    return principal === undefined || isSame(principal, form.principal) ? form : form.#createForm({ principal })
  }

  #getForm(key: string | ClientDescription, differing: Partial<SessionInit>): PipelineSession {
    const cached = this.#forms?.get(key)
    if (cached !== undefined) return cached
    if (this.#forms === undefined || this.#forms.size >= MAX_FORMS) this.#forms = new Map()
    const form = this.#createForm(differing)
    this.#forms.set(key, form)
    return form
  }

  #createForm(differing: Partial<SessionInit>): PipelineSession {
    const { id, listener, principal, client, label, profile, directory, choices, notify, ask } = this
    const same: SessionInit = {
      ...{ id, listener, principal, client, label, profile, directory, choices },
      ...{ notify, ask },
    }
    return new PipelineSession({ ...same, ...differing }, this.root)
  }
}

function isSame(one: Principal, other: Principal): boolean {
  return one === other || authorizationKey(one) === authorizationKey(other)
}

export function createRequestSession(session: Session, inbound: IncomingRequest): Session {
  return session instanceof PipelineSession ? session.withInbound(inbound) : session
}

export function getBaseSession(session: Session): Session {
  return session instanceof PipelineSession ? session.root : session
}

/** Creates a session without a client, to view lists anonymously or as a given caller. */
export function createOnlooker(info: Session['client']['info'], viewer: Partial<Viewer> = {}): Session {
  return new PipelineSession({
    id: 'inspect',
    listener: 'in-process',
    principal: viewer.principal ?? ANONYMOUS,
    profile: viewer.profile,
    client: { info, capabilities: {}, version: MODERN_VERSION, era: 'modern', logLevel: undefined },
    notify: () => false,
  })
}
