import { html } from 'htm/preact'
import type { Figures, Finding as Found, Overview as Answer, ServerRow } from '../../types.ts'
import { post, urlOf } from '../api.ts'
import { Act, Badge, type Column, Empty, Page, Problem, Table, type View } from '../parts.ts'
import { Plot } from '../plot.ts'
import { hashOf, type PageProps, useAnswer } from '../state.ts'
import { ago, bytes, count, duration } from '../texts.ts'

const EVERY_MS = 10_000
const BYTES_OF_TOKEN = 3.6

export function Overview({ me }: PageProps): View {
  const { data, problem, again } = useAnswer<Answer>(urlOf('overview'), {
    every: EVERY_MS,
    on: ['server', 'changed'],
  })
  if (data === undefined) return html`<${Page} title="Overview"><${Problem} of=${problem} /></${Page}>`
  const { gateway, servers, figures, findings, listeners } = data
  const facts = [
    data.level === 'ok' ? 'all is well' : '',
    `${count(servers.length)} servers`,
    `pid ${gateway.pid}`,
    gateway.startedAt === undefined ? '' : `up ${duration(Date.now() - gateway.startedAt)}`,
    bytes(gateway.rss),
  ]
  return html`<${Page} title="Overview" lead=${facts.filter(Boolean).join(' · ')}>
    <${Problem} of=${problem} />
    ${findings.map(one => html`<${Finding} of=${one} key=${one.code} />`)}
    ${me.parts.includes('calls') ? html`<${Plots} figures=${figures} />` : html`<p class="finding">Calls, clients and figures are recorded where the configuration has <code>ui: {}</code>.</p>`}
    <h2>Servers</h2>
    ${
      servers.length === 0
        ? html`<${Empty}>The configuration has no servers.</${Empty}>`
        : html`<${Table}
            label="Servers"
            columns=${columnsFor(me.acts, again)}
            rows=${sorted(servers)}
            keyOf=${(row: ServerRow) => row.name}
          />`
    }
    <h2>Listeners</h2>
    <ul class="plain">
      ${listeners.map(({ name, type, url }) => html`<li><strong>${name}</strong> <code>${url ?? type}</code></li>`)}
    </ul>
  </${Page}>`
}

function Finding({ of }: { of: Found }): View {
  return html`<div class="finding">
    <${Badge} of=${of.level} tone=${TONES[of.level]} /> <${Advice} of=${of} />
  </div>`
}

const TONES: Readonly<Record<string, string>> = { error: 'bad', warning: 'warn', info: 'quiet', ok: 'good' }

/** Findings, each with what to do. */
function Advice({ of }: { of: Found }): View {
  const { summary, detail, fix } = of
  return html`<div class="advice">
    <span>${summary}</span> ${detail === undefined ? null : html`<span class="soft">${detail}</span>`}
    <em>${fix}</em>
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
      summary=${`${count(calls)}, ${count(failed)} failed`}
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

function columnsFor(acts: boolean, again: () => void): Column<ServerRow>[] {
  const button = { head: 'Do', cell: (row: ServerRow) => html`<${Button} row=${row} again=${again} />` }
  return [
    {
      head: 'Server',
      cell: row => html`<a href=${hashOf('calls', { server: row.name })}>${row.name}</a>`,
    },
    { head: 'State', cell: row => html`<${Badge} of=${row.state} />` },
    { head: 'Why, and what to do', isText: true, cell: row => html`<${Why} row=${row} />` },
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

function Why({ row }: { row: ServerRow }): View {
  const { findings = [], problem, lastError, lastErrorAt, server } = row
  if (findings.length > 0) return html`${findings.map(one => html`<${Advice} of=${one} key=${one.code} />`)}`
  if (problem !== undefined) return html`<span>${problem}</span>`
  if (lastError === undefined) return html`<span class="soft">${server}</span>`
  return html`<span class="soft"
    >${lastErrorAt === undefined ? '' : `${ago(lastErrorAt)}: `}${lastError}</span
  >`
}

function hitRate({ cacheHits = 0, cacheMisses = 0 }: ServerRow): string {
  const asked = cacheHits + cacheMisses
  return asked === 0 ? '' : `${Math.round((100 * cacheHits) / asked)} %`
}

const BUTTONS: Readonly<Record<string, readonly [action: string, label: string]>> = {
  failed: ['restart', 'Try again'],
  idle: ['start', 'Start'],
  stopped: ['start', 'Start'],
  ready: ['restart', 'Restart'],
  starting: ['restart', 'Restart'],
}

/** One button each: what helps in this state. */
function Button({ row, again }: { row: ServerRow; again: () => void }): View {
  const { name, state } = row
  if (state === 'needs_auth') return html`<code>gateway login ${name}</code>`
  const [action, label] = BUTTONS[state] ?? ['restart', 'Restart']
  return html`<${Act}
    label=${label}
    about=${name}
    act=${() => post('server', { name, action })}
    done=${again}
  />`
}
