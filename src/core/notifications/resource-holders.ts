import type { Clock, Notification } from '../../api/index.ts'
import { canonicalizeUri } from '../../protocol/uri.ts'
import type { ResourceOwner } from '../graph-types.ts'

/** Minimum milliseconds between two updates of one resource to one holder. */
const MIN_INTERVAL_MS = 100

/**
 * Notifies a resource's holders of changes: immediately, then at most ten times a second. Updates in between are
 * merged into a last one, as all mean the same: read again.
 */
export class ResourceUpdates {
  readonly #clock: Clock
  readonly #notify: (holder: object, update: Notification) => void
  /** Recently notified holders, with the next pending update. */
  readonly #pending = new Map<object, Notification | undefined>()

  constructor(clock: Clock, notify: (holder: object, update: Notification) => void) {
    this.#clock = clock
    this.#notify = notify
  }

  notifyHolder(holder: object, update: Notification): void {
    if (this.#pending.has(holder)) return void this.#pending.set(holder, update)
    if (this.#pending.size === 0) this.#clock.after(MIN_INTERVAL_MS, this.#flush)
    this.#pending.set(holder, undefined)
    this.#notify(holder, update)
  }

  readonly #flush = (): void => {
    const updates = [...this.#pending]
    this.#pending.clear()
    for (const [holder, update] of updates) if (update !== undefined) this.notifyHolder(holder, update)
  }
}

const MAX_HELD = 10_000

/** Subscribed resource of one upstream, with its holders. */
interface SubscribedResource {
  /** Canonical URI that its holders use. */
  readonly uri: string
  readonly owner: ResourceOwner
  readonly holders: Set<object>
  readonly updates: ResourceUpdates
}

/** Watched resources. Two upstreams may share a URI: each holder gets its own upstream's updates. */
export class ResourceHolders {
  readonly #clock: Clock
  readonly #notify: (holder: object, update: Notification) => void
  readonly #byUri = new Map<string, readonly SubscribedResource[]>()

  constructor(clock: Clock, notify: (holder: object, update: Notification) => void) {
    this.#clock = clock
    this.#notify = notify
  }

  *all(): Iterable<SubscribedResource> {
    for (const resources of [...this.#byUri.values()]) yield* resources
  }

  has(uri: string, holder: object): boolean {
    return this.#findSubscription(uri, holder) !== undefined
  }

  /** False if the limit is reached. */
  addHolder(uri: string, owner: ResourceOwner, holder: object): boolean {
    const same = this.#byUri.get(uri)?.find(resource => isSame(resource.owner, owner))
    if (same === undefined) return this.#addToResource(uri, owner, holder)
    same.holders.add(holder)
    return true
  }

  #addToResource(uri: string, owner: ResourceOwner, holder: object): boolean {
    if (this.#byUri.size >= MAX_HELD && !this.#byUri.has(uri)) return false
    const holders = new Set([holder])
    const updates = new ResourceUpdates(this.#clock, (one, update) => {
      if (holders.has(one)) this.#notify(one, update)
    })
    this.#byUri.set(uri, [...(this.#byUri.get(uri) ?? []), { uri, owner, holders, updates }])
    return true
  }

  /** Returns the released resource's owner; undefined if the holder had no such URI. */
  removeHolder(uri: string, holder: object): ResourceOwner | undefined {
    const resource = this.#findSubscription(uri, holder)
    if (resource === undefined) return undefined
    resource.holders.delete(holder)
    if (resource.holders.size > 0) return resource.owner
    const remaining = (this.#byUri.get(uri) ?? []).filter(other => other !== resource)
    if (remaining.length === 0) this.#byUri.delete(uri)
    else this.#byUri.set(uri, remaining)
    return resource.owner
  }

  #findSubscription(uri: string, holder: object): SubscribedResource | undefined {
    return this.#byUri.get(uri)?.find(({ holders }) => holders.has(holder))
  }

  /** Finds a subscribed resource by the owner's URI, which differs from the clients' one if it was renamed. */
  findByOriginal(upstream: string, original: string): SubscribedResource | undefined {
    const name = canonicalizeUri(original)
    const same = this.#byUri
      .get(name)
      ?.find(({ owner }) => owner.upstream === upstream && canonicalizeUri(owner.original) === name)
    if (same !== undefined) return same
    for (const resource of this.all())
      if (resource.owner.upstream === upstream && resource.owner.original === original) return resource
    return undefined
  }
}

function isSame(one: ResourceOwner, other: ResourceOwner): boolean {
  return one.upstream === other.upstream && one.original === other.original
}
