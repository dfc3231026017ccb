import { html } from 'htm/preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Overview, ServerRow, SkillRow, ToolRow, Tools } from '../../types.ts'
import { formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { Badge, Empty, formatBytes, formatCount, formatTime, Page, Problem } from '../components.ts'
import { Plots } from '../plot.ts'
import type { PageProps } from '../state.ts'
import { formatHash, useQuery } from '../state.ts'
import type { Column } from '../table.ts'
import { List } from '../table.ts'
import { ServerButton, ServerDetails } from './overview.ts'

const EVERY_MS = 5000
const LOG_EVERY_MS = 1000
const MAX_TOOLS = 500
/** Distance from the end at which the log still follows. */
const FOLLOW_PX = 40

/** One server: its state, actions, figures, tools and output. */
export function Server({ me, route }: PageProps): ViewNode {
  const name = route.params.get('name') ?? ''
  const { data, problem, again } = useQuery<Overview>('api/overview', { every: EVERY_MS, on: ['server', 'changed'] })
  const row = data?.servers.find(one => one.name === name)
  if (row === undefined)
    return html`<${Page} title=${name || 'Server'}>
      <${Problem} of=${problem} />
      ${data === undefined ? null : html`<${Empty}>Server not found. <a href=${formatHash('overview')}>All servers</a></${Empty}>`}
    </${Page}>`
  return html`<${Page} title=${name} lead=${html`<a href=${formatHash('overview')}>All servers</a>`}>
    <${Problem} of=${problem} />
    <${ServerState} row=${row} acts=${me.acts} again=${again} />
    <${Plots} route=${route} server=${name} />
    <${ServerTools} server=${name} />
    ${row.state === 'ready' ? html`<${ServerSkills} server=${name} />` : null}
    ${row.type === 'stdio' ? html`<${ServerOutput} name=${name} />` : null}
  </${Page}>`
}

function ServerState({ row, acts, again }: { row: ServerRow; acts: boolean; again: () => void }): ViewNode {
  const { name, type, state, pid, rss, restarts, protocol, server, inFlight } = row
  const facts = Object.entries({
    Type: type,
    Server: server,
    Protocol: protocol,
    Process: pid,
    Memory: rss === undefined ? undefined : formatBytes(rss),
    Restarts: restarts,
    'Running calls': inFlight,
  }).filter(([, value]) => value !== undefined)
  const buttons = html`<div class="row start">
    <${ServerButton} row=${row} again=${again} />
    ${state === 'stopped' ? null : html`<${ServerButton} row=${row} of=${['stop', 'Stop']} again=${again} />`}
  </div>`
  return html`<section class="detail" aria-label="State">
    <div class="row"><${Badge} of=${state} /> ${acts ? buttons : null}</div>
    <${ServerDetails} row=${{ ...row, server: undefined }} acts=${acts} />
    <dl>
      ${facts.map(
        ([term, value]) =>
          html`<div>
            <dt>${term}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>
    <a href=${formatHash('calls', { server: name })}>Calls</a>
  </section>`
}

function ServerTools({ server }: { server: string }): ViewNode {
  const url = formatApiUrl('tools', { server, limit: MAX_TOOLS })
  const { data, problem } = useQuery<Tools>(url, { on: ['server', 'changed'] })
  const columns: Column<ToolRow>[] = [
    {
      head: 'Tool',
      cell: ({ name }) => html`<a href=${formatHash('tools', { server, name, of: server })}>${name}</a>`,
    },
    { head: 'Title', cell: ({ title }) => html`<span class="soft">${title}</span>` },
    { head: 'Tokens', isNumber: true, cell: ({ tokens }) => `~${formatCount(tokens)}` },
  ]
  return html`<h2>
      <a href=${formatHash('tools', { server })}>Tools${data === undefined ? '' : ` (${data.total})`}</a>
    </h2>
    <${Problem} of=${problem} />
    <${List}
      label="Tools"
      columns=${columns}
      rows=${data?.tools}
      keyOf=${(row: ToolRow) => row.name}
      none="No known tools. The server is not started for this page."
    />`
}

function ServerSkills({ server }: { server: string }): ViewNode {
  const { data } = useQuery<{ skills: SkillRow[] }>(formatApiUrl('skills', { server }), { on: ['server', 'changed'] })
  const columns: Column<SkillRow>[] = [
    { head: 'Skill', cell: ({ name, uri }) => html`<span title=${uri}>${name}</span>` },
    { head: 'Description', isText: true, cell: row => html`<span class="soft">${row.description}</span>` },
    { head: 'Files', isNumber: true, cell: ({ files }) => files ?? 'generated' },
  ]
  const list = html`<h2>Skills</h2>
    <${List} label="Skills" columns=${columns} rows=${data?.skills} keyOf=${(row: SkillRow) => row.uri} none="" />`
  return data === undefined || data.skills.length === 0 ? html`` : list
}

/** Recent stderr lines from a server process, followed while its end is in view. */
function ServerOutput({ name }: { name: string }): ViewNode {
  const { data, problem } = useQuery<{ lines: { at: number; text: string }[] }>(formatApiUrl('logs', { name }), {
    every: LOG_EVERY_MS,
  })
  const output = useRef<HTMLElement>(null)
  const isAtEnd = useRef(true)
  useEffect(() => {
    if (isAtEnd.current) output.current?.scrollTo(0, output.current.scrollHeight)
  }, [data])
  const scrolled = ({ currentTarget: pre }: { currentTarget: HTMLElement }): void => {
    isAtEnd.current = pre.scrollHeight - pre.scrollTop - pre.clientHeight < FOLLOW_PX
  }
  return html`<h2>Output</h2>
    <${Problem} of=${problem} />
    <div class="snippet">
      <pre tabindex="0" role="log" aria-label="Output" ref=${output} onScroll=${scrolled}>
${data?.lines.map(({ at, text }) => `${formatTime(at)} ${text}`).join('\n') || 'Nothing yet.'}</pre>
    </div>`
}
