import { listAt, mapAt, pointerTo, type Report } from '../../src/plugin.ts'

/** Names that carry credentials, or that HTTP and MCP own: they end at this gateway. */
const KEPT =
  /^(authorization|proxy-authorization|cookie|host|origin|accept|accept-encoding|content-.*|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|user-agent|forwarded|x-forwarded-.*|x-api-key|mcp-.*|last-event-id)$/i

/** A caller's credentials never travel upstream, whatever the configuration says. */
export function check(config: unknown, report: Report): void {
  const upstreams = mapAt(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const standing = Object.keys(mapAt(upstreams, name, 'headers')).map(header => header.toLowerCase())
    listAt(upstreams, name, 'forwardHeaders').forEach((header, i) => {
      if (typeof header !== 'string') return
      const pointer = `${pointerTo('/upstreams', name)}/forwardHeaders/${i}`
      if (KEPT.test(header))
        report({
          pointer,
          message: `header "${header}" of a caller never goes on to a server`,
          hint: 'set what the server needs under "headers", and forward names of your own',
        })
      else if (standing.includes(header.toLowerCase()))
        report({
          pointer,
          message: `header "${header}" is set under "headers" already, which wins`,
          hint: 'take it out of one of them',
        })
    })
  }
}
