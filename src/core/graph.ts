import type { CatalogEntry } from '../api/catalog-entry.ts'
import type { Clock, Config, Dispatch, Exchange, Inbound, Log, Session, Upstream } from '../api/index.ts'
import type { Hooks } from '../hooks/hooks.ts'
import type { Kind } from '../protocol/methods.ts'
import type { Hide } from '../util/secrets.ts'
import { Catalog } from './catalog/catalog.ts'
import { outcomeOfReply, recordAsk } from './client-request.ts'
import { askLegacy } from './client-requests/bridge.ts'
import type { Parking } from './client-requests/parking.ts'
import { type Carrier, PipelineExchange } from './exchange.ts'
import { Grace } from './grace.ts'
import { callWithin } from './inner-calls.ts'
import { Notifier } from './notifications/notifier.ts'
import { noted, PhaseClock, phased } from '../hooks/phase-clock.ts'
import { whyOutdated } from './outdated.ts'
import { Router } from './router.ts'
import type { Seal } from './seal.ts'
import type { TaskStore } from './tasks/task-store.ts'
import type { View } from './catalog/view.ts'
import type { UnlistedMethods } from './catalog/unlisted-methods.ts'
import type { Graph, Identity, UpstreamNode } from './graph-types.ts'

interface GraphParts {
  readonly config: Config
  readonly hooks: Hooks
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly identity: Identity
  readonly seal: Seal
  readonly parking: Parking
  readonly tasks: TaskStore
  readonly unlisted: UnlistedMethods
  readonly log: Log
  readonly clock: Clock
  readonly hide: Hide
  /** The graph that this one replaces. */
  readonly before?: Graph | undefined
}

/** The hooks on which a plugin may judge resources. */
const JUDGES = ['request', 'route', 'catalog'] as const

/** Time for which a list is shown as it was last made, before it is made anew behind the one who asks. */
const RENEW_MS = 5000

/** One generation of the configuration while it runs: it makes and holds all that the core is. */
export class RuntimeGraph implements Graph {
  readonly config: Config
  readonly hooks: Hooks
  readonly upstreams: ReadonlyMap<string, UpstreamNode>
  readonly catalog: Catalog
  readonly router: Router
  readonly notifier: Notifier
  readonly seal: Seal
  readonly parking: Parking
  readonly tasks: TaskStore
  readonly log: Log
  readonly clock: Clock
  readonly hide: Hide
  readonly grace: Grace
  readonly unlisted: UnlistedMethods
  /** Tells whether any plugin has rules about resources. */
  readonly judgesUris: boolean
  /** Tells whether any plugin may ask clients in the middle of a call. */
  readonly holdsCalls: boolean
  /** Tells whether a plugin reads how long requests of this method are in which phase. */
  readonly #isTimed: (method: string) => boolean
  readonly #identity: Identity
  readonly #carrier: Carrier
  readonly #renewed = new WeakMap<View, number>()
  #lastId = 0
  #running = 0

  constructor(parts: GraphParts) {
    this.config = parts.config
    this.hooks = parts.hooks
    this.seal = parts.seal
    this.parking = parts.parking
    this.tasks = parts.tasks
    this.unlisted = parts.unlisted
    this.log = parts.log
    this.clock = parts.clock
    this.hide = parts.hide
    this.grace = new Grace(parts.config, parts.clock, parts.before?.grace)
    this.judgesUris = JUDGES.some(hook => parts.hooks.taps(hook).some(tap => tap.options.judgesUris === true))
    this.holdsCalls = parts.hooks.taps('dispatch').some(tap => tap.options.asks === true)
    this.#isTimed = timedIn(parts.hooks)
    this.#identity = parts.identity
    this.upstreams = new Map([...parts.upstreams].map(([name, upstream]) => [name, this.#node(upstream)]))
    this.catalog = new Catalog(this)
    this.router = new Router(this)
    this.notifier = new Notifier(this)
    this.#carrier = {
      emit: (exchange, notification, send) => this.notifier.emit(exchange, notification, send),
      ask: (exchange, ask, send) => askLegacy(exchange, ask, this, send),
      shown: (exchange, kind) => this.#shown(exchange, kind),
      callTool: (exchange, params) => callWithin(exchange, params, this),
      outdated: call => whyOutdated(call, this),
      asked: (exchange, ask, reply) => recordAsk(this.hooks, exchange, ask, outcomeOfReply(reply)),
    }
  }

  get running(): number {
    return this.#running
  }

  entered(): void {
    this.#running++
  }

  left(): void {
    this.#running--
  }

  nextId(): number {
    return ++this.#lastId
  }

  exchange(session: Session, inbound: Inbound): PipelineExchange {
    const now = this.clock.now()
    const exchange = new PipelineExchange(this.nextId(), session, inbound, this.#carrier, now)
    if (this.#isTimed(inbound.method)) exchange.phases = new PhaseClock(this.clock, now)
    return exchange
  }

  /** Our name and version; a lone unprefixed upstream shows its own, as there is nobody else to be. */
  identity(): Identity {
    const [only] = this.upstreams.values()
    const isTransparent =
      this.upstreams.size === 1 && only?.prefix === '' && this.#identity.isDefault === true
    const { isDefault: _, ...own } = this.#identity
    return isTransparent ? (only.upstream.server?.info ?? own) : own
  }

  async #shown({ session }: Exchange, kind: Kind): Promise<readonly CatalogEntry[]> {
    const { catalog } = this
    const known = catalog.current(kind, session)
    if (known !== undefined) this.#renew(known, kind, session)
    return catalog.listings.shown(known ?? (await catalog.load(kind, session)), session).view.entries
  }

  /** Lists anew now and then, for the next who asks: servers need not say that theirs is another one. */
  #renew(view: View, kind: Kind, session: Session): void {
    const now = this.clock.now()
    if (now - (this.#renewed.get(view) ?? -Infinity) < RENEW_MS) return
    this.#renewed.set(view, now)
    void this.catalog.load(kind, session).catch(() => undefined)
  }

  #node(upstream: Upstream): UpstreamNode {
    const plain: Dispatch = call => upstream.dispatch(call)
    const isTimed = this.#isTimed !== never
    const own = isTimed ? phased(plain, 'upstream') : plain
    const wrapped = this.hooks.runner('dispatch')?.(own, upstream) ?? own
    const dispatch = isTimed ? noted(wrapped) : wrapped
    return { upstream, prefix: upstream.spec.prefix ?? `${upstream.name}__`, dispatch }
  }
}

/** Methods of which a tap of `settled` reads the times; none where nobody does. */
function timedIn(hooks: Hooks): (method: string) => boolean {
  const taps = hooks.taps('settled').filter(({ options }) => options.timed === true)
  if (taps.length === 0) return never
  if (taps.some(({ options }) => options.methods === undefined)) return () => true
  const methods = new Set(taps.flatMap(({ options }) => options.methods ?? []))
  return method => methods.has(method)
}

function never(): boolean {
  return false
}
