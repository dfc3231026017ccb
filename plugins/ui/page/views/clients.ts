import { html } from 'htm/preact'
import type { ClientRow } from '../../types.ts'
import { urlOf } from '../api.ts'
import type { View } from '../parts.ts'
import { ago, Badge, count, Empty, Page, Problem } from '../parts.ts'
import type { PageProps } from '../state.ts'
import { hashOf, useAnswer } from '../state.ts'
import type { Column } from '../table.ts'
import { Table } from '../table.ts'

const EVERY_MS = 5000

export function Clients(_: PageProps): View {
  const { data, problem } = useAnswer<{ clients: ClientRow[]; total: number }>(urlOf('clients'), {
    every: EVERY_MS,
  })
  const rows = data?.clients ?? []
  return html`<${Page} title="Clients" lead=${data === undefined ? '' : `${count(data.total)} since the gateway began`}>
    <${Problem} of=${problem} />
    ${
      rows.length === 0
        ? html`<${Empty}>${data === undefined ? 'Looking …' : 'No client has been here yet.'}</${Empty}>`
        : html`<${Table}
            label="Clients"
            columns=${COLUMNS}
            rows=${rows}
            keyOf=${(row: ClientRow) => JSON.stringify([row.client, row.version, row.protocol, row.subject, row.issuer, row.listener, row.profile])}
          />`
    }
  </${Page}>`
}

const COLUMNS: readonly Column<ClientRow>[] = [
  { head: 'Client', cell: row => html`${row.client} <span class="soft">${row.version}</span>` },
  {
    head: 'Now',
    cell: row =>
      html`<${Badge}
        of=${row.open > 0 ? `${row.open} open` : 'none open'}
        tone=${row.open > 0 ? 'good' : 'quiet'}
      />`,
  },
  { head: 'Speaks', isMinor: true, cell: row => `${row.protocol} ${row.era}` },
  {
    head: 'Caller',
    cell: row => html`<a href=${hashOf('calls', { caller: row.subject })}>${row.subject}</a>`,
  },
  {
    head: 'Comes in at',
    isMinor: true,
    cell: row => [row.listener, row.profile].filter(Boolean).join(' / '),
  },
  { head: 'Calls', isNumber: true, cell: row => count(row.calls) },
  { head: 'Seen', isNumber: true, cell: row => ago(row.seenAt) },
]
