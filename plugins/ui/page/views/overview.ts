import { html } from 'htm/preact'
import type { Figures, Finding as Found, Overview as Answer, ServerRow } from '../../types.ts'
import { post, urlOf } from '../api.ts'
import type { View } from '../parts.ts'
import { Act, ago, Badge, bytes, count, duration, Page, Problem, Search, Snippet } from '../parts.ts'
import { Plot } from '../plot.ts'
import type { PageProps, PageLocation } from '../state.ts'
import { choose, hashOf, useAnswer } from '../state.ts'
import type { Column } from '../table.ts'
import { List } from '../table.ts'

const EVERY_MS = 10_000
const BYTES_OF_TOKEN = 3.6

export function Overview({ me, place }: PageProps): View {
  const { data, problem, again } = useAnswer<Answer>(urlOf('overview'), {
    every: EVERY_MS,
    on: ['server', 'changed'],
  })
  if (data === undefined) return html`<${Page} title="Overview"><${Problem} of=${problem} /></${Page}>`
  const { gateway, servers, figures, findings, listeners } = data
  const search = place.params.get('search') ?? ''
  const logs = place.params.get('logs')
  const facts = [
    data.level === 'ok' ? 'all is well' : '',
    serversText(servers),
    `pid ${gateway.pid}`,
    gateway.startedAt === undefined ? '' : `up ${duration(Date.now() - gateway.startedAt)}`,
    bytes(gateway.rss),
  ]
  return html`<${Page} title="Overview" lead=${facts.filter(Boolean).join(' · ')}>
    <${Problem} of=${problem} />
    ${findings.map(one => html`<${Finding} of=${one} key=${one.code} />`)}
    <${Plots} figures=${figures} />
    ${me.replica === undefined ? null : html`<p class="finding">This gateway is one replica of several. Calls, clients, figures and servers are those of this one; <code>gateway replicas</code> names the others.</p>`}
    <h2>Servers</h2>
    ${
      servers.length < MANY && search === ''
        ? null
        : html`<div class="filters" role="search">
            <${Search}
              label="Search"
              hint="name, state or reason"
              value=${search}
              change=${(text: string) => choose(place, { search: text })}
            />
          </div>`
    }
    ${logs === null ? null : html`<${Output} name=${logs} place=${place} key=${logs} />`}
    <${List}
      label="Servers"
      columns=${columnsFor(me.acts, place, again)}
      rows=${sorted(servers.filter(fitting(search)))}
      keyOf=${(row: ServerRow) => row.name}
      none=${search === '' ? 'The configuration has no servers.' : 'Nothing fits.'}
      isStacked=${true}
    />
    <h2>Listeners</h2>
    <ul class="plain">
      ${listeners.map(({ name, type, url }) => html`<li><strong>${name}</strong> <code>${url ?? type}</code></li>`)}
    </ul>
  </${Page}>`
}

function serversText(servers: readonly ServerRow[]): string {
  const bad = servers.filter(
    ({ state, findings = [] }) => state === 'failed' || findings.some(isTrouble),
  ).length
  const text = servers.length === 1 ? '1 server' : `${count(servers.length)} servers`
  return bad === 0 ? text : `${text}, ${count(bad)} with a problem`
}

function isTrouble({ level }: Found): boolean {
  return level === 'error' || level === 'warning'
}

/** Servers from which on somebody wants to search them. */
const MANY = 12

function fitting(search: string): (row: ServerRow) => boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  return ({ name, type, state, problem, findings = [] }) => {
    const texts = [name, type, state, problem, ...findings.map(({ summary }) => summary)]
    const text = texts.join(' ').toLowerCase()
    return words.every(word => text.includes(word))
  }
}

/** Lines that the process of a server wrote on stderr of late. */
function Output({ name, place }: { name: string; place: PageLocation }): View {
  const { data, problem } = useAnswer<{ lines: string[] }>(urlOf('logs', { name }), { every: EVERY_MS })
  return html`<section class="detail" aria-label=${`Output of ${name}`}>
    <div class="row">
      <h2>Output of ${name}</h2>
      <button type="button" onClick=${() => choose(place, { logs: undefined })}>Close</button>
    </div>
    <${Problem} of=${problem} />
    ${data === undefined ? null : html`<${Snippet} label="Output" text=${data.lines.join('\n') || 'Nothing yet.'} />`}
  </section>`
}

function Finding({ of }: { of: Found }): View {
  return html`<div class="finding">
    <${Badge} of=${of.level} tone=${TONES[of.level]} /> <${Advice} of=${of} />
  </div>`
}

const TONES: Readonly<Record<string, string>> = { error: 'bad', warning: 'warn', info: 'quiet', ok: 'good' }

/** Pages where somebody does something about a finding. */
const SHOWN_AT: Readonly<Record<string, readonly [page: string, text: string]>> = {
  'approvals-waiting': ['approvals', 'Decide about them'],
  'callers-wait-for-login': ['logins', 'See whose'],
}

/** Findings, each with what to do. */
function Advice({ of }: { of: Found }): View {
  const { code, summary, detail, fix } = of
  const shown = SHOWN_AT[code]
  return html`<div class="advice">
    <span>${summary}</span> ${detail === undefined ? null : html`<span class="soft">${detail}</span>`}
    ${fix === '' ? null : html`<em>${fix}</em>`}
    ${shown === undefined ? null : html`<a href=${hashOf(shown[0])}>${shown[1]}</a>`}
  </div>`
}

function Plots({ figures }: { figures: readonly Figures[] }): View {
  const sum = (value: (one: Figures) => number): number =>
    figures.reduce((total, one) => total + value(one), 0)
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
      text=${(value: number) => `${count(value)} in a minute`}
      summary=${`${count(calls)} · ${count(failed)} failed`}
      isSum=${true}
    />
    <${Plot}
      title="Latency (95 %)"
      figures=${figures}
      value=${(one: Figures) => one.p95}
      text=${duration}
      summary=${calls === 0 ? 'no calls' : `at most ${duration(worst)}`}
      isSum=${false}
    />
    <${Plot}
      title="Without the server"
      figures=${figures}
      value=${(one: Figures) => (one.calls === 0 ? 0 : (100 * one.cached) / one.calls)}
      text=${(value: number) => `${count(value)} %`}
      summary=${calls === 0 ? 'no calls' : `${count((100 * cached) / calls)} %`}
      isSum=${false}
    />
    <${Plot}
      title="Tokens, estimated"
      figures=${figures}
      value=${(one: Figures) => one.bytes / BYTES_OF_TOKEN}
      text=${(value: number) => count(Math.round(value))}
      summary=${count(Math.round(tokens))}
      isSum=${true}
    />
  </div>`
}

const ORDER = ['failed', 'needs_auth', 'starting', 'ready', 'idle', 'stopped']

/** Those that need somebody stand first. */
function sorted(servers: readonly ServerRow[]): ServerRow[] {
  return [...servers].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state))
}

function columnsFor(acts: boolean, place: PageLocation, again: () => void): Column<ServerRow>[] {
  const button = { head: 'Do', cell: (row: ServerRow) => html`<${Button} row=${row} again=${again} />` }
  return [
    {
      head: 'Server',
      cell: row => html`<a href=${hashOf('calls', { server: row.name })}>${row.name}</a>`,
    },
    { head: 'State', cell: row => html`<${Badge} of=${row.state} />` },
    {
      head: 'Why, and what to do',
      isText: true,
      cell: row => html`<${Why} row=${row} place=${place} acts=${acts} />`,
    },
    ...(acts ? [button] : []),
    {
      head: 'Protocol',
      isMinor: true,
      cell: row => html`<span class="whole">${row.protocol ?? row.type}</span>`,
    },
    { head: 'Running', isNumber: true, isMinor: true, cell: running },
    { head: 'Cache', isNumber: true, isMinor: true, cell: hitRate },
  ]
}

/** Calls under way, and those that wait for their turn. */
function running({ inFlight = 0, waiting = 0 }: ServerRow): string {
  return waiting === 0 ? String(inFlight) : `${inFlight} + ${waiting} wait`
}

function Why({ row, place, acts }: { row: ServerRow; place: PageLocation; acts: boolean }): View {
  const { findings = [], problem, lastError, lastErrorAt, server } = row
  if (findings.length > 0)
    return html`${findings.map(one => html`<${Advice} of=${acts ? withoutCommands(one) : one} key=${one.code} />`)}
    ${row.type === 'stdio' ? html`<a href=${hashOf('overview', { ...Object.fromEntries(place.params), logs: row.name })}>Its output</a>` : null}`
  if (problem !== undefined) return html`<span>${problem}</span>`
  if (lastError === undefined) return html`<span class="soft">${server}</span>`
  return html`<span class="soft"
    >${lastErrorAt === undefined ? '' : `${ago(lastErrorAt)}: `}${lastError}</span
  >`
}

/** Commands of which each has a button or a link in the row of its server. */
const IN_ROW = [/(^|; then: )gateway (start|restart) \S+$/, /^gateway logs \S+ shows its output$/]

function withoutCommands(of: Found): Found {
  return { ...of, fix: IN_ROW.reduce((fix, command) => fix.replace(command, ''), of.fix) }
}

function hitRate({ cacheHits = 0, cacheMisses = 0 }: ServerRow): string {
  const asked = cacheHits + cacheMisses
  return asked === 0 ? '' : `${Math.round((100 * cacheHits) / asked)} %`
}

const BUTTONS: Readonly<Record<string, readonly [action: string, label: string]>> = {
  failed: ['restart', 'Try again'],
  needs_auth: ['restart', 'Try again'],
  idle: ['start', 'Start'],
  stopped: ['start', 'Start'],
  ready: ['restart', 'Restart'],
  starting: ['restart', 'Restart'],
}

/** One button each: what helps in this state. */
function Button({ row, again }: { row: ServerRow; again: () => void }): View {
  const { name, state } = row
  const [action, label] = BUTTONS[state] ?? ['restart', 'Restart']
  return html`<${Act}
    label=${label}
    about=${name}
    act=${() => post('server', { name, action })}
    done=${again}
  />`
}
