import type { Plugin } from '../../../src/plugin.ts'

/** Counts what passes each hook of the road, as a metrics plugin does. */
export const plugin: Plugin = {
  name: 'count',
  setup({ hooks }) {
    const counts = { request: 0, call: 0, response: 0, settled: 0 }
    hooks.request.tap({ stage: 'trace' }, () => void counts.request++)
    hooks.call.tap(() => void counts.call++)
    hooks.response.tap(() => void counts.response++)
    hooks.settled.tap(() => void counts.settled++)
  },
}
