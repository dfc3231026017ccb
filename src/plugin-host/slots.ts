import type { PluginApi, Slot } from '../plugin.ts'

interface SlotOwner {
  readonly slots: unknown[]
}

/**
 * Slots for plugin state on exchanges, sessions and the gateway. The n-th slot of a plugin keeps its index across
 * generations, so that session state survives a reload.
 */
export class SlotTable {
  readonly #slots = new Map<string, number>()
  readonly #shared = new Map<string, unknown>()

  /** Creates the slot functions for one plugin's setup. */
  createSlotMaker(plugin: string): PluginApi['slot'] {
    let made = 0
    const next = <K extends SlotOwner, T>(init: (owner: K) => T): Slot<K, T> =>
      createSlot(this.#getIndex(JSON.stringify([plugin, made++])), init)
    let shared = 0
    const gateway = <T>(init: () => T): T => this.#createOnce(JSON.stringify([plugin, shared++]), init)
    return Object.freeze({ exchange: next, session: next, gateway })
  }

  #createOnce<T>(key: string, init: () => T): T {
    if (!this.#shared.has(key)) this.#shared.set(key, init())
    return this.#shared.get(key) as T
  }

  #getIndex(key: string): number {
    let index = this.#slots.get(key)
    if (index === undefined) {
      index = this.#slots.size
      this.#slots.set(key, index)
    }
    return index
  }
}

function createSlot<K extends SlotOwner, T>(index: number, init: (owner: K) => T): Slot<K, T> {
  return {
    get(owner) {
      owner.slots[index] ??= init(owner)
      return owner.slots[index] as T
    },
    set(owner, value) {
      owner.slots[index] = value
    },
  }
}
