import { html } from 'htm/preact'
import { post, urlOf } from '../api.ts'
import type { View } from '../parts.ts'
import { Act, Badge, bytes, count, duration, Page, Problem, Search } from '../parts.ts'
import type { PageProps } from '../state.ts'
import { choose, useAnswer } from '../state.ts'
import type { Column } from '../table.ts'
import { List } from '../table.ts'

const EVERY_MS = 10_000

interface Entry {
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

interface Answer {
  readonly entries: readonly Entry[]
  readonly total: number
  readonly bytes: number
  readonly maxEntries: number
  readonly maxBytes: number
}

export function Cache({ me, place }: PageProps): View {
  const filter = { server: place.params.get('server') ?? '', name: place.params.get('name') ?? '' }
  const { data, problem, again } = useAnswer<Answer>(urlOf('cache', filter), { every: EVERY_MS })
  return html`<${Page} title="Cache" lead=${leadOf(data)}>
    <${Problem} of=${problem} />
    <div class="filters" role="search">
      <${Search} label="Server" value=${filter.server} change=${(server: string) => choose(place, { server })} />
      <${Search} label="Tool or URI" hint="* stands for anything" value=${filter.name} change=${(name: string) => choose(place, { name })} />
      ${me.acts ? html`<${Forget} ...${filter} again=${again} />` : null}
    </div>
    <${List} label="Entries" columns=${COLUMNS} rows=${data?.entries} keyOf=${keyOf} none="Nothing that fits is cached." />
  </${Page}>`
}

function leadOf(data: Answer | undefined): string {
  if (data === undefined) return ''
  const { total, maxEntries, maxBytes } = data
  return `${count(total)} of ${count(maxEntries)} entries · ${bytes(data.bytes)} of ${bytes(maxBytes)}`
}

/** Forgets what is chosen; nothing chosen is all. */
function Forget({ server, name, again }: { server: string; name: string; again: () => void }): View {
  const isAll = server === '' && name === ''
  const selection = { ...(server === '' ? {} : { upstream: server }), ...(name === '' ? {} : { name }) }
  const label = isAll ? 'Forget all' : 'Forget these'
  return html`<${Act}
    label=${label}
    kind="danger"
    act=${() => post('purge', isAll ? { all: true } : selection)}
    done=${again}
  />`
}

function keyOf({ upstream, method, name, scope, bytes: size, hits }: Entry): string {
  return JSON.stringify([upstream, method, name, scope, size, hits])
}

const COLUMNS: readonly Column<Entry>[] = [
  { head: 'What', cell: row => row.name ?? row.method },
  { head: 'Server', cell: row => row.upstream },
  { head: 'State', cell: row => html`<${Badge} of=${row.state} />` },
  { head: 'Method', isMinor: true, cell: row => row.method },
  { head: 'For', isMinor: true, cell: row => row.scope },
  { head: 'Age', isNumber: true, isMinor: true, cell: row => duration(row.ageMs) },
  { head: 'Fresh for', isNumber: true, cell: row => (row.ttlMs === 0 ? '' : duration(row.ttlMs)) },
  { head: 'Size', isNumber: true, isMinor: true, cell: row => bytes(row.bytes) },
  { head: 'Hits', isNumber: true, cell: row => count(row.hits) },
]
