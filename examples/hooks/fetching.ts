import type { Plugin } from 'tapgate/plugin'

// #region fetch
/** Answers the owner's `icon.of` with the picture that a server names as its own. */
export const icons: Plugin = {
  name: 'icons',
  setup({ config, hooks, fetch }) {
    hooks.control.for('icon.of').tap(async ({ upstream, icon }) => {
      const spec = config.upstreams[String(upstream)]
      if (spec === undefined || !('url' in spec)) throw new Error('there is no such server with an address')
      const reply = await fetch(String(icon), { namedBy: spec.url, timeoutMs: 2000 })
      return { status: reply.status, type: reply.headers.get('content-type') }
    })
  },
}
// #endregion fetch
