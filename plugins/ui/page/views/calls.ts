import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import type { CallDetail, CallRow, Calls as Answer, Timing } from '../../types.ts'
import { urlOf } from '../api.ts'
import type { View } from '../parts.ts'
import {
  Badge,
  bytes,
  Copy,
  count,
  duration,
  Field,
  Page,
  pretty,
  Problem,
  Search,
  Snippet,
  time,
} from '../parts.ts'
import type { PageProps, PageLocation } from '../state.ts'
import { choose, hashOf, useAnswer, useList } from '../state.ts'
import type { Column } from '../table.ts'
import { List, More } from '../table.ts'

const OUTCOMES = [
  ['', 'any'],
  ['failed', 'all that failed'],
  ['ok', 'ok'],
  ['is_error', 'is error'],
  ['error', 'error'],
  ['refused', 'refused'],
  ['cancelled', 'cancelled'],
  ['input_required', 'input required'],
  ['task', 'task'],
] as const

const FILTERS = ['tool', 'caller', 'server', 'outcome'] as const

export function Calls({ place }: PageProps): View {
  const { params } = place
  const filter = Object.fromEntries(FILTERS.map(name => [name, params.get(name) ?? '']))
  const asked = { ...filter, limit: MAX_SHOWN }
  const [isHeld, hold] = useState(false)
  const [isReading, setReading] = useState(false)
  const { data, problem, rows, further, hasMore } = useList<Answer, CallRow>(urlOf('calls', asked), {
    rowsOf: ({ calls }) => calls,
    nextOf: ({ next }) => (next === undefined ? undefined : urlOf('calls', { ...asked, before: next })),
    // Calls that come meanwhile would push pages apart that somebody reads.
    on: isHeld || isReading ? [] : ['call'],
    newer: {
      urlOf: ({ newest }) => urlOf('calls', { ...asked, after: newest }),
      merged: withNewer,
    },
  })
  if (hasMore !== isReading) setReading(hasMore)
  const id = params.get('id')
  return html`<${Page} title="Calls" lead=${data === undefined ? '' : `${count(data.kept)} kept`}>
    <${Problem} of=${problem} />
    <div class="filters" role="search">
      <${Search} label="Tool" value=${filter.tool} change=${(tool: string) => choose(place, { tool })} />
      <${Search} label="Caller" value=${filter.caller} change=${(caller: string) => choose(place, { caller })} />
      <${Search} label="Server" value=${filter.server} change=${(server: string) => choose(place, { server })} />
      <${Field} label="Outcome" value=${filter.outcome} options=${OUTCOMES} change=${(outcome: string) => choose(place, { outcome })} />
      <label class="check"><input type="checkbox" checked=${!isHeld} onChange=${() => hold(!isHeld)} /> Follow</label>
    </div>
    ${id === null ? null : html`<${Opened} id=${id} place=${place} key=${id} />`}
    <${List} label="Calls" columns=${columns(place)} rows=${rows} keyOf=${(row: CallRow) => row.id} none="No calls yet that fit." />
    <${More} further=${further} />
  </${Page}>`
}

/** Calls of a page; older ones are on the next. While a gateway is busy so many are sent each second. */
const MAX_SHOWN = 50

/** The first page with calls that came since. Where more came than it holds, it is of those alone. */
function withNewer(known: Answer, { calls, kept, newest, next }: Answer): Answer {
  const all =
    next === undefined ? [...calls.filter(({ id }) => id > known.newest), ...known.calls] : [...calls]
  const shown = all.slice(0, MAX_SHOWN)
  const further = all.length > MAX_SHOWN ? shown.at(-1)?.id : (next ?? known.next)
  return { calls: shown, kept, newest, ...(further === undefined ? {} : { next: further }) }
}

function columns({ params }: PageLocation): Column<CallRow>[] {
  const open = ({ id }: CallRow): string => hashOf('calls', { ...Object.fromEntries(params), id: String(id) })
  return [
    {
      head: 'Time',
      cell: row => html`<time datetime=${new Date(row.at).toISOString()}>${time(row.at)}</time>`,
    },
    { head: 'Outcome', cell: row => html`<${Badge} of=${row.outcome} />` },
    { head: 'What', cell: row => html`<a href=${open(row)}>${row.name === '' ? row.method : row.name}</a>` },
    { head: 'Server', isMinor: true, cell: row => row.upstream },
    { head: 'Caller', cell: row => row.subject },
    { head: 'Client', isMinor: true, cell: row => row.client },
    { head: 'Took', isNumber: true, cell: row => duration(row.ms) },
    {
      head: 'Size',
      isNumber: true,
      isMinor: true,
      cell: row => `${bytes(row.bytesIn)} → ${bytes(row.bytesOut)}`,
    },
  ]
}

function Opened({ id, place }: { id: string; place: PageLocation }): View {
  const { data, problem } = useAnswer<CallDetail>(urlOf('call', { id }))
  const close = html`<button type="button" onClick=${() => choose(place, { id: undefined })}>Close</button>`
  if (data === undefined) return html`<section class="detail"><${Problem} of=${problem} />${close}</section>`
  return html`<section class="detail" aria-label=${`Call ${data.name}`}>
    <div class="row">
      <h2>${data.name || data.method} <${Badge} of=${data.outcome} /></h2>
      <span class="row">
        ${data.method === 'tools/call' ? html`<${Copy} text=${commandOf(data)} label="Copy as command" />` : null}
        ${close}
      </span>
    </div>
    ${data.timing === undefined ? null : html`<${Way} of=${data.timing} ms=${data.ms} />`}
    <dl>
      ${factsOf(data).map(
        ([name, text]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${text}</dd>
          </div>`,
      )}
    </dl>
    <h3>Arguments</h3>
    <${Snippet} text=${pretty(data.arguments ?? data.shape)} label="Arguments" />
    ${
      data.result === undefined
        ? html`<p class="soft">
            Results are not kept of this one: <code>ui.values</code> names tools of which they are.
          </p>`
        : html`<h3>Result</h3>
            <${Snippet} text=${pretty(data.result)} label="Result" />`
    }
  </section>`
}

function factsOf(call: CallDetail): (readonly [string, string])[] {
  const all: readonly (readonly [string, string])[] = [
    ['Method', call.method],
    ['Server', call.upstream],
    ['Caller', joined(' of ', call.subject, call.issuer)],
    ['Client', `${call.client} (${call.era}, ${call.via})`],
    ['Profile', call.profile],
    ['Decided by', call.by],
    ['Error', joined(' ', call.code === 0 ? '' : String(call.code), call.error)],
  ]
  return all.filter(([, text]) => text !== '')
}

function joined(by: string, ...texts: readonly (string | undefined)[]): string {
  return texts.filter(Boolean).join(by)
}

const STEPS: readonly (readonly [keyof Timing, string])[] = [
  ['before', 'before: who calls, whose tool it is'],
  ['policy', 'policy: limits, rules, approval'],
  ['cache', 'cache'],
  ['queue', 'queue: the wait for a turn'],
  ['server', 'at the server'],
  ['client', 'asking the client'],
  ['other', 'other plugins'],
  ['after', 'after: filters of the answer'],
]

/** Steps that most calls do not have. */
const SELDOM: ReadonlySet<keyof Timing> = new Set(['client', 'other'])

/** The way of a call, each part as long as it took. */
function Way({ of, ms }: { of: Timing; ms: number }): View {
  const total = Math.max(ms, 0.001)
  return html`<ul class="way" aria-label="Where the time went">
    ${STEPS.filter(([step]) => of[step] > 0 || !SELDOM.has(step)).map(([step, text]) => {
      const share = (100 * of[step]) / total
      return html`<li class=${step}>
        <span class="bar" style=${{ width: `${Math.max(share, 0.5)}%` }}></span>
        <span>${text}</span> <strong>${duration(of[step])}</strong>
      </li>`
    })}
    ${of.tries > 1 ? html`<li>${of.tries} tries</li>` : null}
    ${of.tries === 0 ? html`<li>The server was not asked.</li>` : null}
  </ul>`
}

/** The same call for a terminal. Where values are not kept, their places are left to be filled in. */
function commandOf({ name, arguments: args, shape }: CallDetail): string {
  const json = args ?? shape
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
  return json === '' || json === '{}'
    ? `gateway call ${quoted(name)}`
    : `gateway call ${quoted(name)} --args ${quoted(json)}`
}
