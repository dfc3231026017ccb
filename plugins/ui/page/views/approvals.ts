import { html } from 'htm/preact'
import type { Json } from '../../types.ts'
import { post, urlOf } from '../api.ts'
import type { View } from '../parts.ts'
import { Act, Empty, Page, Problem, Snippet, time } from '../parts.ts'
import type { PageProps } from '../state.ts'
import { useAnswer } from '../state.ts'

const EVERY_MS = 3000

/** Calls that wait for somebody. */
export function Approvals({ me }: PageProps): View {
  const { data, problem, again } = useAnswer<{ approvals: Json[] }>(urlOf('approvals'), {
    every: EVERY_MS,
    on: ['changed'],
  })
  const rows = data?.approvals ?? []
  return html`<${Page} title="Approvals" lead=${rows.length === 0 ? '' : `${rows.length} wait`}>
    <${Problem} of=${problem} />
    ${rows.length === 0 ? html`<${Empty}>No call waits for anybody.</${Empty}>` : null}
    ${rows.map(row => html`<${Waiting} row=${row} acts=${me.acts} again=${again} key=${String(row.id)} />`)}
  </${Page}>`
}

function Waiting({ row, acts, again }: { row: Json; acts: boolean; again: () => void }): View {
  const { id, name, rule, subject, issuer, upstream } = row
  const decide = (decision: string) => () => post('approval', { id, decision })
  return html`<section class="detail" aria-label=${`Call of ${String(name)}`}>
    <h2>${String(name)}</h2>
    <p>
      <strong>${String(subject)}</strong> ${' '}<span class="soft">${String(issuer)}</span>
      ${' wants to call it at '}<strong>${String(upstream)}</strong>
      ${`. Rule: ${String(rule)}. Until ${time(Date.parse(String(row.until)))}.`}
    </p>
    <${Snippet} text=${String(row.arguments)} label="Arguments" />
    ${
      acts
        ? html`<div class="row start">
            <${Act}
              label="Allow once"
              about=${String(name)}
              kind="main"
              act=${decide('approve')}
              done=${again}
            />
            <${Act} label="Refuse" about=${String(name)} kind="danger" act=${decide('deny')} done=${again} />
          </div>`
        : null
    }
  </section>`
}
