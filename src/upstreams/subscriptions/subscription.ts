import type { Answer, Call, Notification, ServerSide, UpstreamContext } from '../../api/index.ts'
import { toModernParams } from '../../protocol/era/modern.ts'
import { type JsonObject, isObject } from '../../protocol/json/json.ts'
import type { RpcResponse } from '../../protocol/jsonrpc.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, type RpcError, rpcError } from '../../protocol/rpc-error.ts'
import { Backoff, HEALTHY_MS } from '../../transport/backoff.ts'
import type { Link } from '../connection/connection.ts'
import { isGlobal } from '../connection/outbound-params.ts'
import type { Subscription } from '../transport.ts'

const FLAGS = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const MAX_URIS = 10_000
/** How long a subscriber waits for the server to acknowledge; it is subscribed later if this was too short. */
const ACKNOWLEDGE_MS = 5000

/** What a watch is there for beside resources, and who hears of it. */
export interface WatchRole {
  /** Whether it listens for changed lists as well. */
  readonly lists: boolean
  notify(notification: Notification): void
}

/**
 * What is to be heard of a server on one of its links: one `subscriptions/listen` kept open on a modern one, and a subscription for
 * each URI on a legacy one, made again on every new link.
 */
export class Watch {
  readonly #context: UpstreamContext
  readonly #role: WatchRole
  readonly #uris = new Map<string, number>()
  /** What is being taken back at a legacy server: over HTTP, what is said later may be heard earlier. */
  readonly #ending = new Map<string, Promise<void>>()
  readonly #backoff = new Backoff()
  #link: Link | undefined
  #current: Subscription | undefined
  #renewal: Promise<void> | undefined
  #takeBackRetry: (() => void) | undefined
  /** Whether the server granted anything; a listen for nothing ends at once, and need not be repeated. */
  #isHonoured = true
  #since = Infinity

  constructor(context: UpstreamContext, role: WatchRole) {
    this.#context = context
    this.#role = role
  }

  get link(): Link | undefined {
    return this.#link
  }

  /** Whether anybody watches a resource. */
  get isWanted(): boolean {
    return this.#uris.size > 0
  }

  /** Listens on a new link; undefined when there is none. */
  follow(link: Link | undefined): void {
    this.#takeBackRetry?.()
    this.#link = link
    this.#current = undefined
    if (link?.server?.era === 'modern') void this.#renew()
    else
      for (const uri of this.#uris.keys())
        void link?.ask('resources/subscribe', { uri }).catch(() => undefined)
  }

  stop(): void {
    this.#takeBackRetry?.()
    this.#link = undefined
  }

  /** One more watches a URI. Without a call the server is only told, now or once there is a link. */
  async add(uri: string, by?: { readonly call: Call; readonly link: Link }): Promise<Answer> {
    await this.#ending.get(uri)
    const refusal = by === undefined ? undefined : this.#refusal(by.link)
    if (refusal !== undefined) return { error: refusal }
    const count = this.#uris.get(uri) ?? 0
    if (count === 0 && by?.link.server?.era === 'legacy') return this.#subscribe(uri, by.call, by.link)
    this.#uris.set(uri, count + 1)
    if (count === 0) await this.#tell('resources/subscribe', uri)
    return { result: Payload.of({}) }
  }

  /** One less watches it. Never rejects. */
  async remove(uri: string): Promise<void> {
    const count = this.#uris.get(uri) ?? 0
    if (count > 1) this.#uris.set(uri, count - 1)
    else if (this.#uris.delete(uri)) {
      const ended = this.#tell('resources/unsubscribe', uri).then(() => void this.#ending.delete(uri))
      this.#ending.set(uri, ended)
      await ended
    }
  }

  async #tell(method: string, uri: string): Promise<void> {
    const link = this.#link
    if (link?.server?.era === 'modern') await this.#renew()
    else await link?.ask(method, { uri }).catch(() => undefined)
  }

  #refusal({ server }: Link): RpcError | undefined {
    const resources = server?.capabilities.resources
    if (!isObject(resources) || resources.subscribe !== true)
      return rpcError(RPC.methodNotFound, 'Method not found')
    return this.#uris.size < MAX_URIS ? undefined : rpcError(RPC.internal, 'too many resource subscriptions')
  }

  async #subscribe(uri: string, call: Call, link: Link): Promise<Answer> {
    const answer = await link.call(call)
    if ('result' in answer) this.#uris.set(uri, (this.#uris.get(uri) ?? 0) + 1)
    return answer
  }

  /** Listens anew with all that is wanted now; changes of the same moment share one listen. */
  #renew(): Promise<void> {
    this.#renewal ??= Promise.resolve().then(() => {
      this.#renewal = undefined
      return this.#link?.server?.era === 'modern' ? this.#listen(this.#link) : undefined
    })
    return this.#renewal
  }

  #listen(link: Link): Promise<void> {
    this.#takeBackRetry?.()
    const previous = this.#current
    const notifications = this.#wanted(link)
    this.#current = undefined
    this.#isHonoured = true
    this.#since = Infinity
    if (Object.keys(notifications).length === 0) {
      previous?.end()
      return Promise.resolve()
    }
    return new Promise(acknowledged => {
      const giveUp = this.#context.clock.after(ACKNOWLEDGE_MS, acknowledged)
      const done = (): void => {
        giveUp()
        previous?.end()
        acknowledged()
      }
      const current = link.subscribe('subscriptions/listen', this.#params(link, notifications), said =>
        this.#hear(said, done),
      )
      this.#current = current
      void current.ended
        .catch(() => undefined)
        .then(response => {
          done()
          this.#ended(current, link, response)
        })
    })
  }

  #params(link: Link, notifications: JsonObject): JsonObject {
    const client = { info: { ...this.#context.gateway }, capabilities: {}, logLevel: undefined }
    return toModernParams({ notifications }, client, link.server?.version ?? '', undefined)
  }

  #wanted(link: Link): JsonObject {
    const wanted: JsonObject = {}
    if (this.#role.lists)
      for (const [kind, flag] of Object.entries(FLAGS)) if (tellsOf(kind, link.server)) wanted[flag] = true
    if (this.#uris.size > 0) wanted.resourceSubscriptions = [...this.#uris.keys()]
    return wanted
  }

  #hear(notification: Notification, acknowledge: () => void): void {
    if (notification.method === ACKNOWLEDGED) {
      const honoured = notification.params?.notifications
      this.#isHonoured = !isObject(honoured) || Object.keys(honoured).length > 0
      this.#since = this.#context.clock.now()
      acknowledge()
    } else if (isGlobal(notification.method)) this.#role.notify(notification)
  }

  #ended(ended: Subscription, link: Link, response: RpcResponse | undefined): void {
    if (ended !== this.#current || link !== this.#link) return
    this.#current = undefined
    if (response?.error?.code === RPC.methodNotFound || !this.#isHonoured) return
    if (this.#context.clock.now() - this.#since >= HEALTHY_MS) this.#backoff.reset()
    this.#takeBackRetry = this.#context.clock.after(this.#backoff.next(), () => this.#again(link))
  }

  #again(link: Link): void {
    void this.#renew().then(() => {
      if (this.#role.lists) for (const change of changesOf(link.server)) this.#role.notify(change)
    })
  }
}

/** All that a server may have changed while nobody listened. */
export function changesOf(server: ServerSide | undefined): Notification[] {
  return Object.keys(FLAGS)
    .filter(kind => tellsOf(kind, server))
    .map(kind => ({ method: `notifications/${kind}/list_changed`, params: undefined }))
}

function tellsOf(kind: string, server: ServerSide | undefined): boolean {
  const capability = server?.capabilities[kind]
  return isObject(capability) && capability.listChanged === true
}
