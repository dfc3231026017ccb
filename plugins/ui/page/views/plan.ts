import { html } from 'htm/preact'
import { useRef, useState } from 'preact/hooks'
import type { Plan as Answer } from '../../types.ts'
import { post } from '../api.ts'
import { Act, Badge, type View } from '../parts.ts'
import { List } from '../table.ts'
import { count } from '../texts.ts'

interface Change {
  readonly mark: 'added' | 'removed' | 'changed'
  readonly kind: string
  readonly text: string
}

const TONES = { added: 'good', removed: 'bad', changed: 'warn' } as const

/** Shows what a text would change as the configuration. Nothing is written, and nothing of the text is run. */
export function Plan(): View {
  const text = useRef<HTMLTextAreaElement>(null)
  const [answer, setAnswer] = useState<Answer>()
  const ask = async (): Promise<void> => {
    setAnswer(undefined)
    setAnswer(await post<Answer>('plan', { yaml: text.current?.value ?? '' }))
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

function Outcome({ of }: { of: Answer }): View {
  const { problems, servers, compared = 0 } = of
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
            columns=${COLUMNS}
            rows=${changesOf(of)}
            keyOf=${({ kind, mark, text }: Change) => JSON.stringify([kind, mark, text])}
            none=""
          />`
        : null
    }
    ${Object.entries(servers?.unknown ?? {}).map(([name, why]) => html`<p class="soft"><strong>${name}</strong>: ${why}</p>`)}
    <p class="soft">
      ${count(kept)} servers are kept, ${count(compared)} calls of late were compared. ${' '}
      <code>gateway plan -c new.yaml</code> ${' '} starts new servers, too, and compares their tools.
    </p>`
}

const COLUMNS = [
  { head: 'Is', cell: ({ mark }: Change) => html`<${Badge} of=${mark} tone=${TONES[mark]} />` },
  { head: 'Of', cell: ({ kind }: Change) => kind },
  { head: 'What', isText: true, cell: ({ text }: Change) => text },
]

function changesOf({ servers, tools, settings = [], verdicts = [] }: Answer): Change[] {
  if (servers === undefined || tools === undefined) return []
  const rows = (mark: Change['mark'], kind: string, texts: readonly string[]): Change[] =>
    texts.map(text => ({ mark, kind, text }))
  const anew = servers.restarted.map(name => `${name} is started anew`)
  const set = servers.changed.map(name => `${name} goes on, with other settings`)
  const renamed = tools.renamed.map(({ from, to }) => `${from} is called ${to}`)
  const described = tools.changed.map(name => `${name} is described in another way`)
  const judged = verdicts.map(
    ({ tool, caller, client, now, then }) => `${tool} by ${caller} with ${client}: now ${now}; then ${then}`,
  )
  return [
    ...rows('added', 'server', servers.started),
    ...rows('removed', 'server', servers.stopped),
    ...rows('changed', 'server', [...anew, ...set]),
    ...rows('added', 'tool', tools.added),
    ...rows('removed', 'tool', tools.removed),
    ...rows('changed', 'tool', [...renamed, ...described]),
    ...rows('changed', 'setting', settings),
    ...rows('changed', 'call', judged),
  ]
}
