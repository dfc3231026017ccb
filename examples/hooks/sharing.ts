import { BoundedMap, principalKey, refuse, RPC, SharedMemory, type Plugin } from 'tapgate/plugin'

// #region sharedStore
const memories = new Map<string, SharedMemory>()

/** Has the gateways of one program that say the same room share what must hold for all of them. */
export const sameRoom: Plugin<{ room: string }> = {
  name: 'same-room',
  early: true, // ahead of the plugins that use it
  setup({ options: { room }, clock, hooks, slot }) {
    const memory = memories.get(room) ?? new SharedMemory({ now: () => clock.now() })
    memories.set(room, memory)
    const me = slot.gateway(() => ({}))
    hooks.sharedStore.tap(() => memory.of(me))
    hooks.close.tap(() => memory.gone(me))
  },
}
// #endregion sharedStore

// #region shared
const DAY_MS = 86_400_000

/** Gives each caller so many tool calls a day, over all processes of the gateway. */
export const callsOfADay: Plugin<{ calls: number }> = {
  name: 'calls-of-a-day',
  setup({ options: { calls }, hooks, shared }) {
    const here = new BoundedMap<string, number>({ max: 10_000 })
    const countHere = (key: string): boolean => {
      const before = here.get(key) ?? 0
      here.set(key, before + 1)
      return before < calls
    }
    hooks.request.tap({ stage: 'limit', methods: ['tools/call'] }, async ({ principal }) => {
      const key = principalKey(principal)
      const isAllowed =
        shared === undefined
          ? countHere(key) // one process alone: it need not ask anybody
          : (await shared.count(key, { by: 1, most: calls, ms: DAY_MS })).got === 1
      return isAllowed ? undefined : refuse(RPC.internal, 'come back tomorrow')
    })
  },
}
// #endregion shared
