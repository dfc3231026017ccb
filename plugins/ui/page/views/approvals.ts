import { html } from 'htm/preact'
import type { Json } from '../../types.ts'
import { postJson, formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { ActionButton, Empty, Page, Problem, Snippet, formatTime } from '../components.ts'
import type { PageProps } from '../state.ts'
import { useQuery } from '../state.ts'

const EVERY_MS = 3000

/** Pending approvals. */
export function Approvals({ me }: PageProps): ViewNode {
  const { data, problem, again } = useQuery<{ approvals: Json[] }>(formatApiUrl('approvals'), {
    every: EVERY_MS,
  })
  const rows = data?.approvals ?? []
  return html`<${Page} title="Approvals" lead=${rows.length === 0 ? '' : `${rows.length} pending`}>
    <${Problem} of=${problem} />
    ${rows.length === 0 ? html`<${Empty}>No pending approvals.</${Empty}>` : null}
    ${rows.map(row => html`<${PendingApproval} row=${row} acts=${me.acts} again=${again} key=${String(row.id)} />`)}
  </${Page}>`
}

function PendingApproval({ row, acts, again }: { row: Json; acts: boolean; again: () => void }): ViewNode {
  const { id, name, rule, subject, issuer, upstream } = row
  const decide = (decision: string) => () => postJson('approval', { id, decision })
  return html`<section class="detail" aria-label=${`Call to ${String(name)}`}>
    <h2>${String(name)}</h2>
    <p>
      <strong>${String(subject)}</strong> ${' '}<span class="soft">${String(issuer)}</span>
      ${' wants to call it on '}<strong>${String(upstream)}</strong>
      ${`. Rule: ${String(rule)}. Expires at ${formatTime(Date.parse(String(row.until)))}.`}
    </p>
    <${Snippet} text=${String(row.arguments)} label="Arguments" />
    ${
      acts
        ? html`<div class="row start">
            <${ActionButton} label="Approve" about=${String(name)} kind="main" act=${decide('approve')} done=${again} />
            <${ActionButton} label="Deny" about=${String(name)} kind="danger" act=${decide('deny')} done=${again} />
          </div>`
        : null
    }
  </section>`
}
