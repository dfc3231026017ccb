import { kindsChangedBy, LISTS, parseDuration, type Config, type Plugin } from '../../src/plugin.ts'
import { ListCache } from './list-cache.ts'

const LIST_METHODS: ReadonlySet<string> = new Set(Object.values(LISTS).map(list => list.method))
const CHANGES = [...new Set(Object.values(LISTS).map(list => list.changed))]

/** Answers lists from memory until they change, grow old, or their upstream comes or goes. */
export const cache: Plugin<Config['cache']> = {
  name: 'cache',
  claims: { section: 'cache' },
  setup({ options, hooks, clock }) {
    if (options === false) return
    const lists = new ListCache(parseDuration(options.lists), clock)

    hooks.dispatch.tap(next => call => (LIST_METHODS.has(call.method) ? lists.get(call, next) : next(call)))
    hooks.notification.tap({ methods: CHANGES }, ({ method }, { lane, upstream }) => {
      if (lane === 'upstream' || upstream === undefined) return
      for (const kind of kindsChangedBy(method)) lists.purge(upstream, LISTS[kind].method)
    })
    hooks.upstreamState.tap(upstream => lists.purge(upstream))
  },
}
