import { html } from 'htm/preact'
import { useRef, useState } from 'preact/hooks'
import type { ConfigValue, ConfigValues } from '../../types.ts'
import { post, urlOf } from '../api.ts'
import type { View } from '../parts.ts'
import { Act, Badge, count, Page, Problem, Search } from '../parts.ts'
import type { PageProps } from '../state.ts'
import { choose, useList } from '../state.ts'
import type { Column } from '../table.ts'
import { List, More } from '../table.ts'

/** The configuration that is in force. The file is the truth: nothing here writes it. */
export function Config({ me, place }: PageProps): View {
  const search = place.params.get('search') ?? ''
  const defaults = place.params.get('defaults') ?? ''
  const asked = { search, defaults }
  const { data, problem, rows, further, again } = useList<ConfigValues, ConfigValue>(urlOf('config', asked), {
    rowsOf: ({ values }) => values,
    nextOf: ({ total }, shown) => (shown < total ? urlOf('config', { ...asked, offset: shown }) : undefined),
    on: ['changed'],
  })
  return html`<${Page} title="Configuration" lead=${leadOf(data)}>
    <${Problem} of=${problem} />
    ${me.isOwner ? html`<${Plan} />` : null}
    <div class="filters" role="search">
      <${Search} label="Search" value=${search} change=${(text: string) => choose(place, { search: text })} />
      <label class="check"><input type="checkbox" checked=${defaults === 'yes'} onChange=${() => choose(place, { defaults: defaults === 'yes' ? undefined : 'yes' })} /> Defaults too</label>
      ${me.acts ? html`<${Act} label="Read the file again" act=${() => post('reload')} done=${again} />` : null}
    </div>
    <${List} label="Values" columns=${COLUMNS} rows=${rows} keyOf=${(row: ConfigValue) => row.pointer} none="Nothing fits." />
    <${More} further=${further} />
  </${Page}>`
}

function leadOf(data: ConfigValues | undefined): View {
  if (data === undefined) return ''
  const values = `${count(data.total)} values`
  return data.file === undefined ? values : html`<span><code>${data.file}</code> · ${values}</span>`
}

const COLUMNS: readonly Column<ConfigValue>[] = [
  { head: 'Key', cell: row => html`<code>${row.pointer.slice(1).replaceAll('/', ' › ')}</code>` },
  {
    head: 'Value',
    cell: row => html`<code>${typeof row.value === 'string' ? row.value : JSON.stringify(row.value)}</code>`,
  },
  { head: 'From', isMinor: true, cell: row => html`<span class="soft">${row.origin}</span>` },
]

/** Answer of `POST plan`. */
interface PlanAnswer {
  /** Why the text is no configuration. */
  readonly problems?: readonly string[]
  readonly changes: boolean
  readonly servers?: Readonly<
    Record<'started' | 'stopped' | 'restarted' | 'changed' | 'kept', readonly string[]>
  > & {
    readonly unknown: Readonly<Record<string, string>>
  }
  readonly tools?: Readonly<Record<'added' | 'removed' | 'changed', readonly string[]>> & {
    readonly renamed: readonly { readonly from: string; readonly to: string }[]
  }
  readonly settings?: readonly string[]
}

interface Change {
  readonly mark: 'added' | 'removed' | 'changed'
  readonly kind: string
  readonly text: string
}

const TONES = { added: 'good', removed: 'bad', changed: 'warn' } as const

/** Shows what a text would change as the configuration. Nothing is written, and nothing of the text is run. */
function Plan(): View {
  const text = useRef<HTMLTextAreaElement>(null)
  const [answer, setPlanAnswer] = useState<PlanAnswer>()
  const ask = async (): Promise<void> => {
    setPlanAnswer(undefined)
    setPlanAnswer(await post<PlanAnswer>('plan', { yaml: text.current?.value ?? '' }))
  }
  return html`<details class="detail">
    <summary>What would another configuration change?</summary>
    <label class="field wide"
      ><span>Paste a whole gateway.yaml</span
      ><textarea ref=${text} rows="10" spellcheck="false" autocomplete="off"></textarea>
    </label>
    <div class="row start">
      <${Act} label="Plan" kind="main" act=${ask} />
      <span class="soft">The file stays as it is, and nothing of this text is run.</span>
    </div>
    <div aria-live="polite">${answer === undefined ? null : html`<${Outcome} of=${answer} />`}</div>
  </details>`
}

function Outcome({ of }: { of: PlanAnswer }): View {
  const { problems, servers } = of
  if (problems !== undefined)
    return html`<h2>It is no configuration yet</h2>
      <ul class="problems">
        ${problems.map(problem => html`<li>${problem}</li>`)}
      </ul>`
  const kept = servers?.kept.length ?? 0
  return html`<h2>${of.changes ? 'This would change' : 'Nothing would change'}</h2>
    ${
      of.changes
        ? html`<${List}
            label="Changes"
            columns=${CHANGES}
            rows=${changesOf(of)}
            keyOf=${({ kind, mark, text }: Change) => JSON.stringify([kind, mark, text])}
            none=""
          />`
        : null
    }
    ${Object.entries(servers?.unknown ?? {}).map(([name, why]) => html`<p class="soft"><strong>${name}</strong>: ${why}</p>`)}
    <p class="soft">
      ${count(kept)} servers are kept. ${' '}
      <code>gateway plan -c new.yaml</code> ${' '} starts new servers, too, and compares their tools.
    </p>`
}

const CHANGES = [
  { head: 'Is', cell: ({ mark }: Change) => html`<${Badge} of=${mark} tone=${TONES[mark]} />` },
  { head: 'Of', cell: ({ kind }: Change) => kind },
  { head: 'What', isText: true, cell: ({ text }: Change) => text },
]

function changesOf({ servers, tools, settings = [] }: PlanAnswer): Change[] {
  if (servers === undefined || tools === undefined) return []
  const rows = (mark: Change['mark'], kind: string, texts: readonly string[]): Change[] =>
    texts.map(text => ({ mark, kind, text }))
  const anew = servers.restarted.map(name => `${name} is started anew`)
  const set = servers.changed.map(name => `${name} goes on, with other settings`)
  const renamed = tools.renamed.map(({ from, to }) => `${from} is called ${to}`)
  const described = tools.changed.map(name => `${name} is described in another way`)
  return [
    ...rows('added', 'server', servers.started),
    ...rows('removed', 'server', servers.stopped),
    ...rows('changed', 'server', [...anew, ...set]),
    ...rows('added', 'tool', tools.added),
    ...rows('removed', 'tool', tools.removed),
    ...rows('changed', 'tool', [...renamed, ...described]),
    ...rows('changed', 'setting', settings),
  ]
}
