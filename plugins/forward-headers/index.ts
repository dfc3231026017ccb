import type { Plugin, Report } from '../../src/plugin.ts'
import { readList, readMap, appendPointer } from '../../src/plugin.ts'

/** Headers with credentials, and headers owned by HTTP or MCP: never forwarded. */
const RESERVED_HEADERS =
  /^(authorization|proxy-authorization|cookie|host|origin|accept|accept-encoding|content-.*|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|user-agent|forwarded|x-forwarded-.*|x-api-key|mcp-.*|last-event-id)$/i

/** Rejects headers with the caller's credentials. */
function checkForwardHeaders(config: unknown, report: Report): void {
  const upstreams = readMap(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const standing = Object.keys(readMap(upstreams, name, 'headers')).map(header => header.toLowerCase())
    readList(upstreams, name, 'forwardHeaders').forEach((header, i) => {
      if (typeof header !== 'string') return
      const pointer = `${appendPointer('/upstreams', name)}/forwardHeaders/${i}`
      if (RESERVED_HEADERS.test(header))
        report({
          pointer,
          message: `caller header "${header}" is never forwarded`,
          hint: 'set required headers under "headers", and forward only custom ones',
        })
      else if (standing.includes(header.toLowerCase()))
        report({
          pointer,
          message: `header "${header}" is already set under "headers", which takes precedence`,
          hint: 'remove one of them',
        })
    })
  }
}

/** Forwards configured request headers to an upstream. */
export const forwardHeaders: Plugin = {
  name: 'forward-headers',
  claims: { upstream: ['forwardHeaders'] },
  check: checkForwardHeaders,
  setup({ config, hooks }) {
    const headersByUpstream = new Map(
      Object.entries(config.upstreams).map(([name, spec]) => {
        const headers = 'forwardHeaders' in spec ? (spec.forwardHeaders ?? []) : []
        return [name, headers.map(header => header.toLowerCase())] as const
      }),
    )
    hooks.call.tap(({ upstream, headers, exchange }) => {
      for (const name of headersByUpstream.get(upstream) ?? []) {
        const value = exchange.headers[name]
        if (value !== undefined) headers[name] = value
      }
    })
    hooks.explain.tap((steps, { call }) => {
      const names = headersByUpstream.get(call?.upstream ?? '') ?? []
      if (names.length === 0) return undefined
      const text = `headers of the caller are forwarded: ${names.join(', ')}`
      return [...steps, { by: 'forward-headers', at: 'call', does: 'changes', text, facts: { headers: names } }]
    })
  },
}
