import { html } from 'htm/preact'
import type { Figures, HealthFinding as Found, Overview as Answer, ServerRow } from '../../types.ts'
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
} from '../components.ts'
import type { PageProps } from '../state.ts'
import { formatHash, useQuery } from '../state.ts'
import type { Column } from '../table.ts'
import { List } from '../table.ts'

const EVERY_MS = 3000
const BYTES_OF_TOKEN = 3.6

export function Overview({ me }: PageProps): ViewNode {
  const { data, problem, again } = useQuery<Answer>(formatApiUrl('overview'), {
    every: EVERY_MS,
  })
  if (data === undefined) return html`<${Page} title="Overview"><${Problem} of=${problem} /></${Page}>`
  const { gateway, servers, figures, findings, listeners } = data
  const facts = [
    data.level === 'ok' ? 'healthy' : '',
    formatServerCount(servers),
    `pid ${gateway.pid}`,
    gateway.startedAt === undefined ? '' : `up ${formatDuration(Date.now() - gateway.startedAt)}`,
    formatBytes(gateway.rss),
  ]
  return html`<${Page} title="Overview" lead=${facts.filter(Boolean).join(' · ')}>
    <${Problem} of=${problem} />
    ${findings.map(one => html`<${Finding} of=${one} key=${one.code} />`)}
    <${Plots} figures=${figures} />
    ${me.replica === undefined ? null : html`<p class="finding">This gateway is one of several replicas. The page shows only the calls, clients, figures and servers of this replica; <code>gateway replicas</code> lists the others.</p>`}
    <h2>Servers</h2>
    <${List}
      label="Servers"
      columns=${createColumns(me.acts, again)}
      rows=${sortByState(servers)}
      keyOf=${(row: ServerRow) => row.name}
      none="No servers configured."
      isStacked=${true}
    />
    <h2>Listeners</h2>
    <ul class="plain">
      ${listeners.map(({ name, type, url }) => html`<li><strong>${name}</strong> <code>${url ?? type}</code></li>`)}
    </ul>
  </${Page}>`
}

function formatServerCount(servers: readonly ServerRow[]): string {
  const bad = servers.filter(({ state, findings = [] }) => state === 'failed' || findings.some(isProblem)).length
  const text = servers.length === 1 ? '1 server' : `${formatCount(servers.length)} servers`
  return bad === 0 ? text : `${text}, ${formatCount(bad)} with problems`
}

function isProblem({ level }: Found): boolean {
  return level === 'error' || level === 'warning'
}

function Finding({ of }: { of: Found }): ViewNode {
  return html`<div class="finding"><${Badge} of=${of.level} tone=${TONES[of.level]} /> <${Advice} of=${of} /></div>`
}

const TONES: Readonly<Record<string, string>> = { error: 'bad', warning: 'warn', info: 'quiet', ok: 'good' }

/** Pages that resolve a finding. */
const FINDING_LINKS: Readonly<Record<string, readonly [page: string, text: string]>> = {
  'approvals-waiting': ['approvals', 'Review'],
  'callers-wait-for-login': ['logins', 'Review'],
}

/** Finding with its fix. */
function Advice({ of }: { of: Found }): ViewNode {
  const { code, summary, detail, fix } = of
  const link = FINDING_LINKS[code]
  return html`<div class="advice">
    <span>${summary}</span> ${detail === undefined ? null : html`<span class="soft">${detail}</span>`}
    ${fix === '' ? null : html`<em>${fix}</em>`}
    ${link === undefined ? null : html`<a href=${formatHash(link[0])}>${link[1]}</a>`}
  </div>`
}

function Plots({ figures }: { figures: readonly Figures[] }): ViewNode {
  const sum = (value: (one: Figures) => number): number => figures.reduce((total, one) => total + value(one), 0)
  const calls = sum(one => one.calls)
  const failed = sum(one => one.failed)
  const cached = sum(one => one.cached)
  const tokens = sum(one => one.bytes) / BYTES_OF_TOKEN
  const worst = Math.max(0, ...figures.map(one => one.p95))
  return html`<div class="plots">
    <${Plot}
      title="Calls"
      figures=${figures}
      value=${(one: Figures) => one.calls}
      second=${failed === 0 ? undefined : (one: Figures) => one.failed}
      summary=${`${formatCount(calls)} · ${formatCount(failed)} failed`}
      isSum=${true}
    />
    <${Plot}
      title="Latency (p95)"
      figures=${figures}
      value=${(one: Figures) => one.p95}
      summary=${calls === 0 ? 'no calls' : `at most ${formatDuration(worst)}`}
      isSum=${false}
    />
    <${Plot}
      title="Served from cache"
      figures=${figures}
      value=${(one: Figures) => (one.calls === 0 ? 0 : (100 * one.cached) / one.calls)}
      summary=${calls === 0 ? 'no calls' : `${formatCount((100 * cached) / calls)} %`}
      isSum=${false}
    />
    <${Plot}
      title="Tokens, estimated"
      figures=${figures}
      value=${(one: Figures) => one.bytes / BYTES_OF_TOKEN}
      summary=${formatCount(Math.round(tokens))}
      isSum=${true}
    />
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
      head: 'Server',
      cell: row => html`<a href=${formatHash('calls', { server: row.name })}>${row.name}</a>`,
    },
    { head: 'State', cell: row => html`<${Badge} of=${row.state} />` },
    {
      head: 'Details',
      isText: true,
      cell: row => html`<${ServerDetails} row=${row} />`,
    },
    ...(acts ? [button] : []),
    {
      head: 'Protocol',
      isMinor: true,
      cell: row => html`<span class="whole">${row.protocol ?? row.type}</span>`,
    },
    { head: 'Running', isNumber: true, isMinor: true, cell: formatRunning },
    { head: 'Cache', isNumber: true, isMinor: true, cell: formatHitRate },
  ]
}

/** Running calls, and queued ones. */
function formatRunning({ inFlight = 0, waiting = 0 }: ServerRow): string {
  return waiting === 0 ? String(inFlight) : `${inFlight} + ${waiting} queued`
}

function ServerDetails({ row }: { row: ServerRow }): ViewNode {
  const { findings = [], problem, lastError, lastErrorAt, server } = row
  if (findings.length > 0) return html`${findings.map(one => html`<${Advice} of=${one} key=${one.code} />`)} `
  if (problem !== undefined) return html`<span>${problem}</span>`
  if (lastError === undefined) return html`<span class="soft">${server}</span>`
  return html`<span class="soft">${lastErrorAt === undefined ? '' : `${formatAge(lastErrorAt)}: `}${lastError}</span>`
}

function formatHitRate({ cacheHits = 0, cacheMisses = 0 }: ServerRow): string {
  const requests = cacheHits + cacheMisses
  return requests === 0 ? '' : `${Math.round((100 * cacheHits) / requests)} %`
}

const BUTTONS: Readonly<Record<string, readonly [action: string, label: string]>> = {
  failed: ['restart', 'Retry'],
  needs_auth: ['restart', 'Retry'],
  idle: ['start', 'Start'],
  stopped: ['start', 'Start'],
  ready: ['restart', 'Restart'],
  starting: ['restart', 'Restart'],
}

/** The most useful action for the state. */
function ServerButton({ row, again }: { row: ServerRow; again: () => void }): ViewNode {
  const { name, state } = row
  const [action, label] = BUTTONS[state] ?? ['restart', 'Restart']
  return html`<${ActionButton}
    label=${label}
    about=${name}
    act=${() => postJson('server', { name, action })}
    done=${again}
  />`
}

const SPANS = 60
const SPAN_MS = 60_000
const WIDTH = 360
const HEIGHT = 56
const SINGLE_POINT_WIDTH = 6

/** Small chart of the last hour. */
interface PlotProps {
  readonly title: string
  readonly figures: readonly Figures[]
  readonly value: (figures: Figures) => number
  /** Second line, in the error color. */
  readonly second?: (figures: Figures) => number
  readonly summary: string
  /** True for values summed over a minute. */
  readonly isSum: boolean
}

function Plot({ title, figures, value, second, summary, isSum }: PlotProps): ViewNode {
  const end = Math.floor(Date.now() / SPAN_MS) * SPAN_MS
  const spans = groupByMinute(figures, end)
  const values = spans.map(span => (span === undefined ? undefined : value(span)))
  const secondValues = second === undefined ? [] : spans.map(span => (span === undefined ? undefined : second(span)))
  const top = Math.max(1e-9, ...values.map(one => one ?? 0), ...secondValues.map(one => one ?? 0))
  return html`<figure class="plot">
    <figcaption>
      <span>${title}</span>
      <strong>${summary}</strong>
    </figcaption>
    <svg
      viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label=${`${title}, last hour: ${summary}`}
    >
      <path class="area" d=${createAreaPath(values, top, isSum)} />
      <path class="line" d=${createLinePath(values, top, isSum)} />
      ${second === undefined ? null : html`<path class="line second" d=${createLinePath(secondValues, top, isSum)} />`}
    </svg>
  </figure>`
}

/** Groups figures by minute: sums, and the maximum latency. */
function groupByMinute(figures: readonly Figures[], end: number): (Figures | undefined)[] {
  const spans = new Array<Figures | undefined>(SPANS).fill(undefined)
  for (const one of figures) {
    const at = Math.floor(one.at / SPAN_MS) * SPAN_MS
    const index = SPANS - 1 - (end - at) / SPAN_MS
    if (index >= 0 && index < SPANS) spans[index] = mergeFigures(spans[index], { ...one, at })
  }
  return spans
}

function mergeFigures(a: Figures | undefined, b: Figures): Figures {
  if (a === undefined) return b
  return {
    at: a.at,
    calls: a.calls + b.calls,
    failed: a.failed + b.failed,
    cached: a.cached + b.cached,
    bytes: a.bytes + b.bytes,
    p95: Math.max(a.p95, b.p95),
  }
}

type PlotValues = readonly (number | undefined)[]

type PlotPoint = readonly [x: number, y: number]

/** Splits values into unbroken lines. A minute without calls is 0 for sums, and a gap for measures. */
function splitIntoLines(values: PlotValues, top: number, isSum: boolean): PlotPoint[][] {
  const lines: PlotPoint[][] = [[]]
  values.forEach((value, x) => {
    if (value === undefined && !isSum) return void lines.push([])
    const y = HEIGHT - 2 - ((value ?? 0) / top) * (HEIGHT - 6)
    lines.at(-1)?.push([(x * WIDTH) / (SPANS - 1), y])
  })
  return lines.filter(line => line.length > 0)
}

function createLinePath(values: PlotValues, top: number, isSum: boolean): string {
  return splitIntoLines(values, top, isSum).map(formatPath).join('')
}

/** Draws an isolated point as a short line. */
function formatPath(points: readonly PlotPoint[]): string {
  const [first] = points
  if (first !== undefined && points.length === 1) {
    const [from, to] = [
      Math.max(0, first[0] - SINGLE_POINT_WIDTH / 2),
      Math.min(WIDTH, first[0] + SINGLE_POINT_WIDTH / 2),
    ]
    return `M${from} ${first[1].toFixed(1)}H${to}`
  }
  return points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('')
}

function createAreaPath(values: PlotValues, top: number, isSum: boolean): string {
  return splitIntoLines(values, top, isSum)
    .map(points => `${formatPath(points)}L${points.at(-1)?.[0] ?? 0} ${HEIGHT}L${points[0]?.[0] ?? 0} ${HEIGHT}Z`)
    .join('')
}
