import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import type { ClientRow, Shown } from '../../types.ts'
import { post, urlOf } from '../api.ts'
import { Act, Badge, Field, type View } from '../parts.ts'
import { useAnswer } from '../state.ts'

interface Explained {
  readonly outcome: { readonly what: string; readonly text: string }
  readonly steps: readonly {
    readonly by: string
    readonly at: string
    readonly does: string
    readonly text: string
  }[]
}

interface Answer {
  readonly shown: Shown
  readonly explained: Explained
}

/** Name of a client that calls itself nothing. */
const UNKNOWN = 'unknown'

const FINE: ReadonlySet<string> = new Set(['server', 'answered'])

/** Asks how a client sees a tool, and what a call of it would meet, for a caller that somebody types. */
export function Why({ tool, server }: { tool: string; server: string }): View {
  const [as, setAs] = useState('anonymous')
  const [client, setClient] = useState('')
  const [answer, setAnswer] = useState<Answer>()
  const { data } = useAnswer<{ clients: ClientRow[] }>(urlOf('clients'))
  const names = [...new Set((data?.clients ?? []).map(one => one.client))].sort()
  const ask = async (): Promise<void> => {
    const named = client === '' ? UNKNOWN : client
    const [shown, explained] = await Promise.all([
      post<Shown>('shown', { tool, server, client: named }),
      post<Explained>('explain', { tool, as, client: named }),
    ])
    setAnswer({ shown, explained })
  }
  return html`<div class="filters">
      <${Field} label="Caller" value=${as} hint="key:ci" change=${setAs} />
      <${Field}
        label="Client"
        value=${client}
        options=${[['', 'any other'], ...names.map(name => [name, name])]}
        change=${setClient}
      />
      <${Act} label="Explain" act=${ask} />
    </div>
    ${answer === undefined ? null : html`<${Outcome} ...${answer} />`}`
}

function Outcome({ shown, explained: { outcome, steps } }: Answer): View {
  return html`<p>
      <${Badge} of=${shown.isShown ? 'shown' : 'hidden'} tone=${shown.isShown ? 'good' : 'quiet'} />
      ${' '}${listed(shown)}
    </p>
    ${
      shown.notes.length === 0
        ? null
        : html`<ul class="steps">
            ${shown.notes.map(note => html`<li>${note}</li>`)}
          </ul>`
    }
    <p><${Badge} of=${outcome.what} tone=${FINE.has(outcome.what) ? 'good' : 'warn'} /> ${outcome.text}</p>
    <ol class="steps">
      ${steps.map(step => html`<li><span class="soft">${step.at} · ${step.by} ${step.does}</span> ${step.text}</li>`)}
    </ol>`
}

function listed({ client, isShown, name, why }: Shown): View {
  const whose = client === UNKNOWN ? 'a client that nobody knows' : client
  if (isShown) return html`in the list of ${whose} as <code>${name}</code>`
  return `not in the list of ${whose}${why === undefined ? '' : `: ${why}`}`
}
