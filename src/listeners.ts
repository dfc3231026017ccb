import { gatewayError } from './errors.ts'
import type { Clock, Gate, Listener, ListenerConfig, Log } from './core/ports.ts'
import type { Hooks } from './hooks/hooks.ts'
import type { LoadedConfig } from './config/index.ts'

interface Open {
  readonly spec: ListenerConfig
  readonly authenticates: boolean
  readonly listener: Listener
}

/** The open listeners. They outlive generations: one whose spec is unchanged stays as it is, with its sessions. */
export class Listeners {
  readonly #open = new Map<string, Open>()
  readonly #context: { readonly gate: Gate; readonly log: Log; readonly clock: Clock }

  constructor(context: { gate: Gate; log: Log; clock: Clock }) {
    this.#context = context
  }

  get all(): readonly Listener[] {
    return [...this.#open.values()].map(({ listener }) => listener)
  }

  /** Opens, keeps and closes, so that what listens is what the configuration says. On an error the rest stays as it was. */
  async become(loaded: LoadedConfig, hooks: Hooks, graceMs: number): Promise<void> {
    const wanted = loaded.config.listeners
    const authenticates = asksWho(hooks)
    for (const [name, { listener, ...open }] of this.#open) {
      // What may be open to all depends on it.
      const isSame = open.authenticates === authenticates
      if (isSame && JSON.stringify(wanted[name]) === JSON.stringify(open.spec)) continue
      this.#open.delete(name)
      await listener.stop(graceMs)
    }
    for (const [name, spec] of Object.entries(wanted)) {
      if (this.#open.has(name)) continue
      const listener = this.#create(name, spec, hooks)
      await listener.start()
      this.#open.set(name, { spec, authenticates, listener })
    }
  }

  async stop(graceMs: number): Promise<void> {
    await Promise.all(this.all.map(listener => listener.stop(graceMs)))
    this.#open.clear()
  }

  #create(name: string, spec: ListenerConfig, hooks: Hooks): Listener {
    const log = this.#context.log.child({ listener: name })
    const listener = hooks.runner('createListener', spec.type)?.(spec, {
      name,
      log,
      clock: this.#context.clock,
      gate: this.#context.gate,
      authenticates: asksWho(hooks),
    })
    if (listener !== undefined && listener !== null) return listener
    throw gatewayError('GW_LISTEN', {
      listener: name,
      address: spec.type,
      why: `no plugin makes listeners of type "${spec.type}"`,
    })
  }
}

function asksWho(hooks: Hooks): boolean {
  return hooks.runner('authenticate') !== undefined
}
