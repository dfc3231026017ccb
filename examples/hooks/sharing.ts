import { BoundedMap, principalKey, refuse, RPC, type Plugin, type SharedStore } from 'tapgate/plugin'

// #region store
/** Shares a store between gateways in one process, such as those of a test. */
export const sharing: Plugin<{ store: SharedStore }> = {
  name: 'sharing',
  early: true, // before the plugins that use it
  setup({ options: { store }, hooks }) {
    hooks.services.tap(services => ({ ...services, store }))
  },
}
// #endregion store

// #region shared
const DAY_MS = 86_400_000

/** Limits the daily tool calls of each caller, over all processes of the gateway. */
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
          ? countHere(key) // a single process
          : (await shared.addToCounter(key, { delta: 1, max: calls, expiresInMs: DAY_MS })).added === 1
      return isAllowed ? undefined : refuse(RPC.internal, 'daily limit exceeded')
    })
  },
}
// #endregion shared
