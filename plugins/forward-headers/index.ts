import type { Plugin } from '../../src/plugin.ts'
import { check } from './check.ts'

/** Passes the listed headers of a caller's request on to an upstream, and no others. */
export const forwardHeaders: Plugin = {
  name: 'forward-headers',
  claims: { upstream: ['forwardHeaders'] },
  check,
  setup({ config, hooks }) {
    const wanted = new Map<string, readonly string[]>()
    for (const [name, spec] of Object.entries(config.upstreams)) {
      const headers = 'forwardHeaders' in spec ? spec.forwardHeaders : undefined
      if (headers !== undefined)
        wanted.set(
          name,
          headers.map(header => header.toLowerCase()),
        )
    }
    hooks.call.tap(({ upstream, headers, exchange }) => {
      for (const name of wanted.get(upstream) ?? []) {
        const value = exchange.headers[name]
        if (value !== undefined) headers[name] = value
      }
    })
    hooks.explain.tap((steps, { call }) => {
      const names = wanted.get(call?.upstream ?? '') ?? []
      if (names.length === 0) return undefined
      const text = `headers of the caller are passed on: ${names.join(', ')}`
      return [
        ...steps,
        { by: 'forward-headers', at: 'call', does: 'changes', text, facts: { headers: names } },
      ]
    })
  },
}
