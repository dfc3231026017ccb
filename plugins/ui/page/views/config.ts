import { html } from 'htm/preact'
import { useRef, useState } from 'preact/hooks'
import type { ConfigValue, ConfigValues } from '../../types.ts'
import { postJson, formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { ActionButton, Badge, formatCount, Page, Problem, Search, formatBytes, formatDuration } from '../components.ts'
import type { PageProps } from '../state.ts'
import { updateParams, useList, useQuery } from '../state.ts'
import type { Column } from '../table.ts'
import { List, MoreButton } from '../table.ts'

/** Active configuration, read-only. */
export function Config({ me, route }: PageProps): ViewNode {
  const search = route.params.get('search') ?? ''
  const defaults = route.params.get('defaults') ?? ''
  const query = { search, defaults }
  const { data, problem, rows, loadMore, again } = useList<ConfigValues, ConfigValue>(formatApiUrl('config', query), {
    getRows: ({ values }) => values,
    getNextUrl: ({ total }, offset) => (offset < total ? formatApiUrl('config', { ...query, offset }) : undefined),
    on: ['changed'],
  })
  return html`<${Page} title="Configuration" lead=${formatLead(data)}>
    <${Problem} of=${problem} />
    ${me.isOwner ? html`<${PlanForm} />` : null}
    <div class="filters" role="search">
      <${Search} label="Search" value=${search} change=${(text: string) => updateParams(route, { search: text })} />
      <label class="check"><input type="checkbox" checked=${defaults === 'yes'} onChange=${() => updateParams(route, { defaults: defaults === 'yes' ? undefined : 'yes' })} /> Show defaults</label>
      ${me.acts ? html`<${ActionButton} label="Reload" act=${() => postJson('reload')} done=${again} />` : null}
    </div>
    <${List} label="Values" columns=${COLUMNS} rows=${rows} keyOf=${(row: ConfigValue) => row.pointer} none="No matches." />
    <${MoreButton} further=${loadMore} />
  </${Page}>`
}

function formatLead(data: ConfigValues | undefined): ViewNode {
  if (data === undefined) return ''
  const values = `${formatCount(data.total)} values`
  return data.file === undefined ? values : html`<span><code>${data.file}</code> · ${values}</span>`
}

const COLUMNS: readonly Column<ConfigValue>[] = [
  { head: 'Key', cell: row => html`<code>${row.pointer.slice(1).replaceAll('/', ' › ')}</code>` },
  {
    head: 'Value',
    cell: row => html`<code>${typeof row.value === 'string' ? row.value : JSON.stringify(row.value)}</code>`,
  },
  { head: 'Source', isMinor: true, cell: row => html`<span class="soft">${row.origin}</span>` },
]

/** `POST plan` answer. */
interface PlanAnswer {
  /** Validation errors. */
  readonly problems?: readonly string[]
  readonly changes: boolean
  readonly servers?: Readonly<Record<'started' | 'stopped' | 'restarted' | 'changed' | 'kept', readonly string[]>> & {
    readonly unknown: Readonly<Record<string, string>>
  }
  readonly tools?: Readonly<Record<'added' | 'removed' | 'changed', readonly string[]>> & {
    readonly renamed: readonly { readonly from: string; readonly to: string }[]
  }
  readonly settings?: readonly string[]
}

interface PlannedChange {
  readonly mark: 'added' | 'removed' | 'changed'
  readonly kind: string
  readonly text: string
}

const TONES = { added: 'good', removed: 'bad', changed: 'warn' } as const

/** Shows the effect of a configuration without applying it. */
function PlanForm(): ViewNode {
  const text = useRef<HTMLTextAreaElement>(null)
  const [answer, setPlanAnswer] = useState<PlanAnswer>()
  const submitPlan = async (): Promise<void> => {
    setPlanAnswer(undefined)
    setPlanAnswer(await postJson<PlanAnswer>('plan', { yaml: text.current?.value ?? '' }))
  }
  return html`<details class="detail">
    <summary>Preview changes</summary>
    <label class="field wide"
      ><span>Paste a complete gateway.yaml</span
      ><textarea ref=${text} rows="10" spellcheck="false" autocomplete="off"></textarea>
    </label>
    <div class="row start">
      <${ActionButton} label="Plan" kind="main" act=${submitPlan} />
      <span class="soft">Nothing is written or run.</span>
    </div>
    <div aria-live="polite">${answer === undefined ? null : html`<${PlanOutcome} of=${answer} />`}</div>
  </details>`
}

function PlanOutcome({ of }: { of: PlanAnswer }): ViewNode {
  const { problems, servers } = of
  if (problems !== undefined)
    return html`<h2>Invalid configuration</h2>
      <ul class="problems">
        ${problems.map(problem => html`<li>${problem}</li>`)}
      </ul>`
  const keptCount = servers?.kept.length ?? 0
  return html`<h2>${of.changes ? 'Changes' : 'No changes'}</h2>
    ${
      of.changes
        ? html`<${List}
            label="Changes"
            columns=${CHANGES}
            rows=${listChanges(of)}
            keyOf=${({ kind, mark, text }: PlannedChange) => JSON.stringify([kind, mark, text])}
            none=""
          />`
        : null
    }
    ${Object.entries(servers?.unknown ?? {}).map(([name, why]) => html`<p class="soft"><strong>${name}</strong>: ${why}</p>`)}
    <p class="soft">
      ${formatCount(keptCount)} servers stay unchanged. ${' '}
      <code>gateway plan -c new.yaml</code> ${' '} also starts new servers and compares their tools.
    </p>`
}

const CHANGES = [
  { head: 'Change', cell: ({ mark }: PlannedChange) => html`<${Badge} of=${mark} tone=${TONES[mark]} />` },
  { head: 'Kind', cell: ({ kind }: PlannedChange) => kind },
  { head: 'Details', isText: true, cell: ({ text }: PlannedChange) => text },
]

function listChanges({ servers, tools, settings = [] }: PlanAnswer): PlannedChange[] {
  if (servers === undefined || tools === undefined) return []
  const rows = (mark: PlannedChange['mark'], kind: string, texts: readonly string[]): PlannedChange[] =>
    texts.map(text => ({ mark, kind, text }))
  const restarts = servers.restarted.map(name => `${name} will restart`)
  const set = servers.changed.map(name => `${name} keeps running with new settings`)
  const renamed = tools.renamed.map(({ from, to }) => `${from} is renamed to ${to}`)
  const described = tools.changed.map(name => `description of ${name} changes`)
  return [
    ...rows('added', 'server', servers.started),
    ...rows('removed', 'server', servers.stopped),
    ...rows('changed', 'server', [...restarts, ...set]),
    ...rows('added', 'tool', tools.added),
    ...rows('removed', 'tool', tools.removed),
    ...rows('changed', 'tool', [...renamed, ...described]),
    ...rows('changed', 'setting', settings),
  ]
}

const EVERY_MS = 10_000

interface CacheEntryRow {
  readonly upstream: string
  readonly method: string
  readonly name?: string
  readonly state: string
  readonly ageMs: number
  readonly ttlMs: number
  readonly bytes: number
  readonly hits: number
  readonly scope: string
}

interface CacheAnswer {
  readonly entries: readonly CacheEntryRow[]
  readonly total: number
  readonly bytes: number
  readonly maxEntries: number
  readonly maxBytes: number
}

export function Cache({ me, route }: PageProps): ViewNode {
  const filter = { server: route.params.get('server') ?? '', name: route.params.get('name') ?? '' }
  const { data, problem, again } = useQuery<CacheAnswer>(formatApiUrl('cache', filter), { every: EVERY_MS })
  return html`<${Page} title="Cache" lead=${formatLead(data)}>
    <${Problem} of=${problem} />
    <div class="filters" role="search">
      <${Search} label="Server" value=${filter.server} change=${(server: string) => updateParams(route, { server })} />
      <${Search} label="Tool or URI" hint="* is a wildcard" value=${filter.name} change=${(name: string) => updateParams(route, { name })} />
      ${me.acts ? html`<${PurgeButton} ...${filter} again=${again} />` : null}
    </div>
    <${List} label="Entries" columns=${COLUMNS} rows=${data?.entries} keyOf=${getRowKey} none="No matching entries." />
  </${Page}>`
}

function formatLead(data: CacheAnswer | undefined): string {
  if (data === undefined) return ''
  const { total, maxEntries, maxBytes } = data
  return `${formatCount(total)} of ${formatCount(maxEntries)} entries · ${formatBytes(data.bytes)} of ${formatBytes(maxBytes)}`
}

/** Purges the filtered entries; without a filter, all. */
function PurgeButton({ server, name, again }: { server: string; name: string; again: () => void }): ViewNode {
  const isAll = server === '' && name === ''
  const selection = { ...(server === '' ? {} : { upstream: server }), ...(name === '' ? {} : { name }) }
  const label = isAll ? 'Purge all' : 'Purge matches'
  return html`<${ActionButton}
    label=${label}
    kind="danger"
    act=${() => postJson('purge', isAll ? { all: true } : selection)}
    done=${again}
  />`
}

function getRowKey({ upstream, method, name, scope, bytes: size, hits }: CacheEntryRow): string {
  return JSON.stringify([upstream, method, name, scope, size, hits])
}

const COLUMNS: readonly Column<CacheEntryRow>[] = [
  { head: 'Entry', cell: row => row.name ?? row.method },
  { head: 'Server', cell: row => row.upstream },
  { head: 'State', cell: row => html`<${Badge} of=${row.state} />` },
  { head: 'Method', isMinor: true, cell: row => row.method },
  { head: 'Scope', isMinor: true, cell: row => row.scope },
  { head: 'Age', isNumber: true, isMinor: true, cell: row => formatDuration(row.ageMs) },
  { head: 'TTL', isNumber: true, cell: row => (row.ttlMs === 0 ? '' : formatDuration(row.ttlMs)) },
  { head: 'Size', isNumber: true, isMinor: true, cell: row => formatBytes(row.bytes) },
  { head: 'Hits', isNumber: true, cell: row => formatCount(row.hits) },
]
