import type { Plugin } from '../../../src/plugin.ts'

/** Waits a little on the way in and out, as a plugin does that asks a store. */
export const plugin: Plugin = {
  name: 'wait',
  setup({ hooks }) {
    let open = 0
    hooks.request.tap({ stage: 'limit' }, async () => {
      await Promise.resolve()
      open++
    })
    hooks.call.tap(call => void (call.headers['x-open'] = String(open)))
    hooks.response.tap(async () => {
      await Promise.resolve()
    })
    hooks.settled.tap(() => void open--)
  },
}
