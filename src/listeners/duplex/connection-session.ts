import { randomBytes } from 'node:crypto'
import type {
  Ask,
  AskReply,
  ClientSide,
  Era,
  Gate,
  Notification,
  Principal,
  Session,
} from '../../api/index.ts'
import { legacyClient } from '../client/client-info.ts'

/** Different things one client says of itself on one pipe; more than this are forgotten and made again. */
const MAX_VIEWS = 16

export interface PipeSessionOptions {
  readonly gate: Gate
  readonly listener: string
  readonly principal: Principal
  readonly label?: string | undefined
  readonly profile?: string | undefined
  notify(notification: Notification): boolean
  /** Asks a legacy client outside any request. */
  ask(ask: Ask): Promise<AskReply>
}

/**
 * The one conversation of a pipe. A modern client says with each request who it is; where that changes, the request
 * sees the same session with another `client`, so that requests under way keep theirs and plugin state stays one.
 */
export class PipeSession {
  readonly #options: PipeSessionOptions
  readonly #id = randomBytes(16).toString('base64url')
  readonly #views = new Map<string, Session>()
  #root: Session | undefined
  #client: ClientSide | undefined

  constructor(options: PipeSessionOptions) {
    this.#options = options
  }

  /** The session as it is, where it is open. */
  get root(): Session | undefined {
    return this.#root
  }

  /** The session for a request, or undefined when it has to be opened first. */
  find(era: Era, client: ClientSide | undefined): Session | undefined {
    if (this.#root === undefined || this.#client === undefined) return undefined
    if (era === 'legacy')
      return this.#client.era === 'legacy' ? this.#legacy(this.#root, this.#client, client) : undefined
    return client === undefined ? this.#root : this.#view(this.#root, client)
  }

  /** `initialize` after requests without it, or again: the same conversation knows better now. */
  #legacy(root: Session, known: ClientSide, client: ClientSide | undefined): Session {
    if (client !== undefined) Object.assign(known, client)
    return root
  }

  #view(root: Session, client: ClientSide): Session {
    const key = JSON.stringify(client)
    const known = this.#views.get(key)
    if (known !== undefined) return known
    if (this.#views.size >= MAX_VIEWS) this.#views.clear()
    const { notify } = root
    const view = Object.create(root, {
      client: { value: client, enumerable: true },
      notify: { value: notify },
    }) as Session
    this.#views.set(key, view)
    return view
  }

  /** Opens the session; one of the other era, which did nothing but ask what we are, is closed. */
  async open(era: Era, client: ClientSide | undefined): Promise<Session> {
    this.close('the client chose another protocol era')
    const { gate, listener, principal, label, profile, notify, ask } = this.#options
    this.#client = client ?? legacyClient(undefined)
    this.#root = await gate.openSession({
      id: this.#id,
      listener,
      principal,
      client: this.#client,
      label,
      profile,
      notify,
      ask: era === 'legacy' ? ask : undefined,
    })
    if (era === 'modern') this.#views.set(JSON.stringify(this.#client), this.#root)
    return this.#root
  }

  close(reason: string): void {
    if (this.#root !== undefined) this.#options.gate.closeSession(this.#root, reason)
    this.#root = undefined
    this.#views.clear()
  }
}
