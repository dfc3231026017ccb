import { html } from 'htm/preact'
import type { HealthFinding as Found, Json, Overview as Answer, ServerRow } from '../../types.ts'
import { postJson, formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import {
  ActionButton,
  formatAge,
  Badge,
  formatBytes,
  formatCount,
  formatDuration,
  Page,
  Problem,
  Search,
} from '../components.ts'
import { Plots } from '../plot.ts'
import type { PageLocation, PageProps } from '../state.ts'
import { APPROVAL_QUERY, emitToPages, updateParams, formatHash, useQuery } from '../state.ts'
import type { Column } from '../table.ts'
import { List } from '../table.ts'
import { PendingApproval } from './logins.ts'

const EVERY_MS = 10_000
const MAX_APPROVALS = 3

export function Overview({ me, route }: PageProps): ViewNode {
  const { data, problem, again } = useQuery<Answer>(formatApiUrl('overview'), {
    every: EVERY_MS,
    on: ['server', 'changed'],
  })
  if (data === undefined) return html`<${Page} title="Overview"><${Problem} of=${problem} /></${Page}>`
  const { servers, findings, listeners } = data
  const search = route.params.get('search') ?? ''
  return html`<${Page} title="Overview" lead=${formatLead(data)}>
    <${Problem} of=${problem} />
    ${findings.map(one => html`<${Finding} of=${one} key=${one.code} />`)}
    ${me.parts.includes('approvals') ? html`<${PendingApprovals} acts=${me.acts} />` : null}
    <${Plots} route=${route} server=${route.params.get('server') ?? ''} servers=${servers.map(({ name }) => name)} />
    ${me.replica === undefined ? null : html`<p class="finding">This gateway is one of several replicas. The page shows only the calls, clients, figures and servers of this replica; <code>gateway replicas</code> lists the others.</p>`}
    <h2>Servers</h2>
    ${servers.length < SEARCH_FROM_SERVERS && search === '' ? null : html`<${ServerSearch} route=${route} />`}
    <${List}
      label="Servers"
      columns=${createColumns(me.acts, again)}
      rows=${sortByState(servers.filter(createFilter(search)))}
      keyOf=${(row: ServerRow) => row.name}
      none=${search === '' ? 'No servers configured.' : 'No matches.'}
    />
    <h2>Listeners</h2>
    <ul class="plain">
      ${listeners.map(({ name, type, url }) => html`<li><strong>${name}</strong> <code>${url ?? type}</code></li>`)}
    </ul>
  </${Page}>`
}

function formatLead({ level, servers, gateway }: Answer): string {
  const facts = [
    level === 'ok' ? 'healthy' : '',
    formatServerCount(servers),
    `pid ${gateway.pid}`,
    gateway.startedAt === undefined ? '' : `up ${formatDuration(Date.now() - gateway.startedAt)}`,
    formatBytes(gateway.rss),
  ]
  return facts.filter(Boolean).join(' · ')
}

function formatServerCount(servers: readonly ServerRow[]): string {
  const bad = servers.filter(({ state, findings = [] }) => state === 'failed' || findings.some(isProblem)).length
  const text = servers.length === 1 ? '1 server' : `${formatCount(servers.length)} servers`
  return bad === 0 ? text : `${text}, ${formatCount(bad)} with problems`
}

function isProblem({ level }: Found): boolean {
  return level === 'error' || level === 'warning'
}

/** Minimum server count for a search field. */
const SEARCH_FROM_SERVERS = 12

function ServerSearch({ route }: { route: PageLocation }): ViewNode {
  return html`<div class="filters" role="search">
    <${Search}
      label="Search"
      hint="name, state or reason"
      value=${route.params.get('search') ?? ''}
      change=${(search: string) => updateParams(route, { search })}
    />
  </div>`
}

function createFilter(search: string): (row: ServerRow) => boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  return ({ name, type, state, problem, findings = [] }) => {
    const texts = [name, type, state, problem, ...findings.map(({ summary }) => summary)]
    const text = texts.join(' ').toLowerCase()
    return words.every(word => text.includes(word))
  }
}

/** The first pending approvals; the finding links to all. */
function PendingApprovals({ acts }: { acts: boolean }): ViewNode {
  const { data } = useQuery<{ approvals: Json[] }>(formatApiUrl('approvals'), APPROVAL_QUERY)
  // Also updates the count in the menu.
  const again = (): void => emitToPages({ type: 'changed', what: 'approvals' })
  const first = data?.approvals.slice(0, MAX_APPROVALS) ?? []
  return html`${first.map(row => html`<${PendingApproval} row=${row} acts=${acts} again=${again} key=${String(row.id)} />`)}`
}

function Finding({ of }: { of: Found }): ViewNode {
  return html`<div class=${`finding ${of.code}`}>
    <${Badge} of=${of.code === WAITING ? 'pending' : of.level} tone=${of.code === WAITING ? 'warn' : TONES[of.level]} />
    <${Advice} of=${of} />
  </div>`
}

const TONES: Readonly<Record<string, string>> = { error: 'bad', warning: 'warn', info: 'quiet', ok: 'good' }

const WAITING = 'approvals-waiting'

/** Pages that resolve a finding. */
const FINDING_LINKS: Readonly<Record<string, readonly [page: string, text: string]>> = {
  [WAITING]: ['approvals', 'Review'],
}

/** Finding with its fix. */
function Advice({ of }: { of: Found }): ViewNode {
  const { code, summary, detail, fix } = of
  const link = FINDING_LINKS[code]
  return html`<div class="advice">
    <span>${summary}</span> ${detail === undefined ? null : html`<span class="soft">${detail}</span>`}
    ${fix === '' || link !== undefined ? null : html`<em>${fix}</em>`}
    ${link === undefined ? null : html`<a href=${formatHash(link[0])}>${link[1]}</a>`}
  </div>`
}

const STATE_ORDER = ['failed', 'needs_auth', 'starting', 'ready', 'idle', 'stopped']

/** Sorts servers that need attention first. */
function sortByState(servers: readonly ServerRow[]): ServerRow[] {
  return [...servers].sort((a, b) => STATE_ORDER.indexOf(a.state) - STATE_ORDER.indexOf(b.state))
}

function createColumns(acts: boolean, again: () => void): Column<ServerRow>[] {
  const button = {
    head: 'Actions',
    cell: (row: ServerRow) => html`<${ServerButton} row=${row} again=${again} />`,
  }
  return [
    {
      ...{ head: 'Server', sortBy: 'name' },
      cell: row => html`<a href=${formatHash('server', { name: row.name })}>${row.name}</a>`,
    },
    { head: 'State', sortBy: 'state', cell: row => html`<${Badge} of=${row.state} />` },
    {
      head: 'Details',
      isText: true,
      cell: row => html`<${ServerDetails} row=${row} acts=${acts} />`,
    },
    ...(acts ? [button] : []),
    {
      head: 'Protocol',
      cell: row => html`<span class="whole">${row.protocol ?? row.type}</span>`,
    },
    { head: 'Running', isNumber: true, sortBy: 'inFlight', cell: formatRunning },
    { head: 'Cache', isNumber: true, cell: formatHitRate },
  ]
}

/** Running calls, and queued ones. */
function formatRunning({ inFlight = 0, waiting = 0 }: ServerRow): string {
  return waiting === 0 ? String(inFlight) : `${inFlight} + ${waiting} queued`
}

/** Its findings, its problem or its type. */
export function ServerDetails({ row, acts }: { row: ServerRow; acts: boolean }): ViewNode {
  const { findings = [], problem, lastError, lastErrorAt, server } = row
  if (findings.length > 0)
    return html`${findings.map(one => html`<${Advice} of=${acts ? removeCommands(one) : one} key=${one.code} />`)}`
  if (problem !== undefined) return html`<span>${problem}</span>`
  if (lastError === undefined) return html`<span class="soft">${server}</span>`
  return html`<span class="soft">${lastErrorAt === undefined ? '' : `${formatAge(lastErrorAt)}: `}${lastError}</span>`
}

/** Fixes that a button or link in the server's row covers. */
const IN_ROW = [/(^|; then: )gateway (start|restart) \S+$/, /^gateway logs \S+ shows its output$/]

function removeCommands(of: Found): Found {
  return { ...of, fix: IN_ROW.reduce((fix, command) => fix.replace(command, ''), of.fix) }
}

function formatHitRate({ cacheHits = 0, cacheMisses = 0 }: ServerRow): string {
  const requests = cacheHits + cacheMisses
  return requests === 0 ? '' : `${Math.round((100 * cacheHits) / requests)} %`
}

const ACTIONS: Readonly<Record<string, readonly [action: string, label: string]>> = {
  failed: ['restart', 'Retry'],
  needs_auth: ['restart', 'Retry'],
  idle: ['start', 'Start'],
  stopped: ['start', 'Start'],
  ready: ['restart', 'Restart'],
  starting: ['restart', 'Restart'],
}

interface ServerButtonProps {
  readonly row: ServerRow
  /** Default: the most useful action for the state. */
  readonly of?: readonly [action: string, label: string]
  readonly again: () => void
}

export function ServerButton({ row: { name, state }, of = ACTIONS[state], again }: ServerButtonProps): ViewNode {
  const [action, label] = of ?? ['restart', 'Restart']
  return html`<${ActionButton}
    label=${label}
    about=${name}
    act=${() => postJson('server', { name, action })}
    done=${again}
  />`
}
