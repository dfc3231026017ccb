import type { Plugin } from 'tapgate/plugin'

// #region fetch
/** Adds the control verb `icon.of`, which fetches an icon that a server named. */
export const icons: Plugin = {
  name: 'icons',
  setup({ config, hooks, fetch }) {
    hooks.control.for('icon.of').tap(async ({ upstream, icon }) => {
      const spec = config.upstreams[String(upstream)]
      if (spec === undefined || !('url' in spec)) throw new Error('no upstream with this name and a URL')
      const reply = await fetch(String(icon), { namedBy: spec.url, timeoutMs: 2000 })
      return { status: reply.status, type: reply.headers.get('content-type') }
    })
  },
}
// #endregion fetch
