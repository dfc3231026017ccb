import { html } from 'htm/preact'
import type { PagePart } from '../../types.ts'
import type { ViewNode } from '../components.ts'
import { Snippet } from '../components.ts'

/** Lines of gateway.yaml that enable a part. */
const LINES: Readonly<Record<PagePart, string>> = {
  approvals: "policy: { ask: [{ for: '*delete*', when: 'true', name: deletes }] }\napprove: { by: [owner] }",
  logins: 'upstreams:\n  linear: { type: http, url: https://mcp.linear.app/mcp, oauth: {} }',
  cache: 'cache: {}',
  agents:
    '# work is an existing directory\nagents: { roots: [work], list: { gemini: { command: gemini, args: [--acp] } } }',
}

/** Instructions for a part that is not configured. */
export function Missing({ part }: { part: PagePart }): ViewNode {
  return html`<p>Not configured. Add lines such as these to gateway.yaml, then reload the configuration:</p>
    <${Snippet} text=${LINES[part]} label="Lines for gateway.yaml" />`
}
