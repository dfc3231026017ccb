import type { Plugin } from '../../../src/plugin.ts'

/** Keeps state on the exchange from its first hook to its last, as a tracing plugin does. */
export const plugin: Plugin = {
  name: 'stamp',
  setup({ hooks, slot, clock }) {
    const spans = slot.exchange(() => ({ asked: clock.now(), called: 0, answered: 0 }))
    let longest = 0
    hooks.request.tap({ stage: 'trace' }, exchange => void spans.get(exchange))
    hooks.call.tap(call => void (spans.get(call.exchange).called = clock.now()))
    hooks.response.tap((_answer, exchange) => void (spans.get(exchange).answered = clock.now()))
    hooks.settled.tap(exchange => {
      const { asked, answered } = spans.get(exchange)
      longest = Math.max(longest, answered - asked)
    })
  },
}
