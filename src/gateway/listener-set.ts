import { gatewayError, getErrorMessage } from '../errors/errors.ts'
import type { Clock, Config, Gate, Listener, ListenerConfig, Log, PeerDirectory } from '../api/index.ts'
import type { Hooks } from '../hooks/hooks.ts'
import type { LoadedConfig } from '../config/index.ts'

interface OpenListener {
  readonly spec: ListenerConfig
  readonly authenticates: boolean
  readonly neighbours: PeerDirectory | undefined
  readonly listener: Listener
}

interface ListenerPlan {
  readonly loaded: LoadedConfig
  readonly hooks: Hooks
  readonly neighbours: PeerDirectory | undefined
}

/** A transition between two listener sets. */
interface ListenerTransition {
  readonly before: ReadonlyMap<string, OpenListener>
  readonly plan: ListenerPlan | undefined
  readonly after: Map<string, OpenListener>
  /** Listeners that were stopped to free their port. */
  readonly stopped: Set<Listener>
}

/** A new listener set, open but not final. */
export interface ListenerChange {
  /** Closes the old listeners within `graceMs`. */
  settle(graceMs: number): Promise<void>
  /** Restores the old listeners. */
  undo(): Promise<void>
}

interface ListenersDeps {
  readonly gate: Gate
  readonly log: Log
  readonly clock: Clock
}

/** The open listeners. They outlive generations: a listener with the same address retains its sessions. */
export class ListenerSet {
  #open: ReadonlyMap<string, OpenListener> = new Map()
  #plan: ListenerPlan | undefined
  readonly #context: ListenersDeps

  constructor(context: ListenersDeps) {
    this.#context = context
  }

  get all(): readonly Listener[] {
    return [...this.#open.values()].map(({ listener }) => listener)
  }

  /**
   * Opens and updates listeners to match the configuration. Old listeners stay open until the change is settled,
   * unless their port is needed. On an error, everything is restored.
   */
  async applyPlan(plan: ListenerPlan, graceMs: number): Promise<ListenerChange> {
    const step: ListenerTransition = {
      before: this.#open,
      plan: this.#plan,
      after: new Map(),
      stopped: new Set(),
    }
    try {
      await this.#startListeners(plan, step, graceMs)
    } catch (error) {
      await this.#undoChange(step)
      throw error
    }
    this.#open = step.after
    this.#plan = plan
    return {
      undo: () => this.#undoChange(step),
      settle: async graceMs => {
        await Promise.all(omitKey(step.before, step.after).map(listener => listener.stop(graceMs)))
      },
    }
  }

  async #startListeners(
    plan: ListenerPlan,
    { before, after, stopped }: ListenerTransition,
    graceMs: number,
  ): Promise<void> {
    const { loaded, hooks, neighbours } = plan
    const replaced = Object.entries(loaded.config.listeners).filter(([name, spec]) => {
      const requested = { spec, neighbours, authenticates: requiresAuthentication(hooks, name) }
      const reused = reuseListener(before.get(name), requested, loaded.config)
      if (reused !== undefined) after.set(name, reused)
      return reused === undefined
    })
    const leaving = omitKey(before, after)
    // Open listeners that need a port to be freed last, when few other steps can fail.
    const waitingForPort = replaced.filter(([, spec]) => findPortHolders(spec, leaving).length > 0)
    const early = replaced.filter(entry => !waitingForPort.includes(entry))
    for (const [name, spec] of [...early, ...waitingForPort]) {
      for (const listener of findPortHolders(spec, leaving)) {
        stopped.add(listener)
        await listener.stop(graceMs)
      }
      after.set(name, await this.#startListener(name, spec, plan))
    }
  }

  /** Closes streams if the new generation rejects their callers. */
  recheckCredentials(): void {
    for (const { listener } of this.#open.values()) listener.recheckCallers?.()
  }

  async stop(graceMs: number): Promise<void> {
    await Promise.all(this.all.map(listener => listener.stop(graceMs)))
    this.#open = new Map()
  }

  async #undoChange({ before, after, stopped, plan }: ListenerTransition): Promise<void> {
    await Promise.all(omitKey(after, before).map(listener => listener.stop(0)))
    const restored = new Map(before)
    for (const [name, { spec, authenticates, listener }] of before) {
      if (plan === undefined) break
      if (!stopped.has(listener)) listener.reconfigure?.(spec, plan.loaded.config, authenticates)
      else {
        restored.delete(name)
        await this.#startListener(name, spec, plan).then(
          open => restored.set(name, open),
          (error: unknown) => this.#context.log.error(getErrorMessage(error)),
        )
      }
    }
    this.#open = restored
    this.#plan = plan
  }

  async #startListener(name: string, spec: ListenerConfig, plan: ListenerPlan): Promise<OpenListener> {
    const listener = this.#createListener(name, spec, plan)
    await listener.start()
    const { hooks, neighbours } = plan
    return { spec, neighbours, authenticates: requiresAuthentication(hooks, name), listener }
  }

  #createListener(name: string, spec: ListenerConfig, { loaded, hooks, neighbours }: ListenerPlan): Listener {
    const { clock, gate } = this.#context
    const log = this.#context.log.child({ listener: name })
    const listener = hooks.getRunner('createListener', spec.type)?.(spec, {
      name,
      directory: loaded.directory,
      log,
      clock,
      gate,
      authenticates: requiresAuthentication(hooks, name),
      peers: neighbours,
    })
    if (listener !== undefined && listener !== null) return listener
    throw gatewayError('GW_LISTEN', {
      listener: name,
      address: spec.type,
      why: `unknown listener type "${spec.type}": no plugin provides it`,
    })
  }
}

/** Reuses a listener under a new spec, if possible. Whether it may be public depends on authentication. */
function reuseListener(
  open: OpenListener | undefined,
  { spec, authenticates, neighbours }: Omit<OpenListener, 'listener'>,
  config: Config,
): OpenListener | undefined {
  if (open === undefined || open.neighbours !== neighbours) return undefined
  const { listener } = open
  const isSame = open.authenticates === authenticates && JSON.stringify(open.spec) === JSON.stringify(spec)
  const goesOn = listener.reconfigure?.(spec, config, authenticates) ?? isSame
  return goesOn ? { spec, authenticates, neighbours, listener } : undefined
}

function requiresAuthentication(hooks: Hooks, listener: string): boolean {
  return hooks.getRunner('authenticate', listener) !== undefined
}

function omitKey(some: ReadonlyMap<string, OpenListener>, excluded: ReadonlyMap<string, OpenListener>): Listener[] {
  const excludedListeners = new Set([...excluded.values()].map(({ listener }) => listener))
  return [...some.values()].map(({ listener }) => listener).filter(listener => !excludedListeners.has(listener))
}

/** Finds the listeners that occupy a spec's port. */
function findPortHolders(spec: ListenerConfig, listeners: readonly Listener[]): Listener[] {
  if (!('port' in spec) || spec.port === 0) return []
  return listeners.filter(({ url }) => url !== undefined && getPort(url) === spec.port)
}

function getPort(url: string): number {
  const { port, protocol } = new URL(url)
  return Number(port || (protocol === 'https:' ? 443 : 80))
}
