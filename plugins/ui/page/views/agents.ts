import { html } from 'htm/preact'
import type { Json } from '../../types.ts'
import { urlOf } from '../api.ts'
import { columnsOf } from './approvals.ts'
import { Empty, Page, Problem, Table, type View } from '../parts.ts'
import { type PageProps, useAnswer } from '../state.ts'

const EVERY_MS = 5000

export function Agents(_: PageProps): View {
  const { data, problem } = useAnswer<{ agents: Json[] }>(urlOf('agents'), { every: EVERY_MS })
  const rows = data?.agents ?? []
  return html`<${Page} title="Agents">
    <${Problem} of=${problem} />
    ${
      rows.length === 0
        ? html`<${Empty}>${data === undefined ? 'Looking …' : 'No agent is configured.'}</${Empty}>`
        : html`<${Table}
            label="Agents"
            columns=${columnsOf(rows)}
            rows=${rows}
            keyOf=${(row: Json) => String(row.id ?? row.name)}
          />`
    }
  </${Page}>`
}
