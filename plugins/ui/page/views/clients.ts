import { html } from 'htm/preact'
import type { ClientRow } from '../../types.ts'
import { formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { formatAge, Badge, formatCount, Page, Problem } from '../components.ts'
import type { PageProps } from '../state.ts'
import { formatHash, useQuery } from '../state.ts'
import type { Column } from '../table.ts'
import { List } from '../table.ts'

const EVERY_MS = 5000

export function Clients(_: PageProps): ViewNode {
  const { data, problem } = useQuery<{ clients: ClientRow[]; total: number }>(formatApiUrl('clients'), {
    every: EVERY_MS,
  })
  return html`<${Page} title="Clients" lead=${data === undefined ? '' : `${formatCount(data.total)} since the gateway started`}>
    <${Problem} of=${problem} />
    <${List}
      label="Clients"
      columns=${COLUMNS}
      rows=${data?.clients}
      keyOf=${(row: ClientRow) => JSON.stringify([row.client, row.version, row.protocol, row.subject, row.issuer, row.listener, row.profile])}
      none="No clients yet."
    />
  </${Page}>`
}

const COLUMNS: readonly Column<ClientRow>[] = [
  { head: 'Client', cell: row => html`${row.client} <span class="soft">${row.version}</span>` },
  {
    head: 'Status',
    cell: row =>
      html`<${Badge}
        of=${row.open > 0 ? `${row.open} connected` : 'offline'}
        tone=${row.open > 0 ? 'good' : 'quiet'}
      />`,
  },
  { head: 'Protocol', isMinor: true, cell: row => `${row.protocol} ${row.era}` },
  {
    head: 'Caller',
    cell: row => html`<a href=${formatHash('calls', { caller: row.subject })}>${row.subject}</a>`,
  },
  {
    head: 'Listener',
    isMinor: true,
    cell: row => [row.listener, row.profile].filter(Boolean).join(' / '),
  },
  { head: 'Calls', isNumber: true, cell: row => formatCount(row.calls) },
  { head: 'Last seen', isNumber: true, cell: row => formatAge(row.seenAt) },
]
