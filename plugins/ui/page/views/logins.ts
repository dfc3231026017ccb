import { html } from 'htm/preact'
import { postJson, formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { ActionButton, formatAge, Badge, formatDuration, Page, Problem } from '../components.ts'
import type { PageProps } from '../state.ts'
import { useQuery } from '../state.ts'
import type { Column } from '../table.ts'
import { List } from '../table.ts'

/** Existing or missing login to a server. */
interface LoginRow {
  /** Server; empty if it is no longer configured. */
  readonly upstream: string
  /** `gateway`, or a digest of the caller. */
  readonly account: string
  readonly caller?: string
  readonly state: string
  readonly resource?: string
  readonly issuer?: string
  readonly scopes?: readonly string[]
  readonly renews?: boolean
  readonly why?: string
  readonly expiresAt?: number
  readonly lostAt?: number
  readonly since?: number
}

const EVERY_MS = 10_000

/** The gateway's account, shared by all callers. */
const GATEWAY = 'gateway'
/** A prefix is enough to distinguish digests. */
const MAX_DIGEST = 16

/** Logins to servers, including missing ones. */
export function Logins({ me }: PageProps): ViewNode {
  const { data, problem, again } = useQuery<{ logins: LoginRow[] }>(formatApiUrl('logins'), {
    every: EVERY_MS,
  })
  return html`<${Page} title="Logins" lead="Stored logins to servers">
    <${Problem} of=${problem} />
    <${List}
      label="Logins"
      columns=${createColumns(me.acts, again)}
      rows=${data?.logins}
      keyOf=${(row: LoginRow) => JSON.stringify([row.upstream, row.account, row.resource, row.issuer])}
      none=${html`No logins. Run <code>gateway login</code> to log in.`}
      isStacked=${true}
    />
  </${Page}>`
}

function createColumns(acts: boolean, again: () => void): Column<LoginRow>[] {
  const end = {
    head: 'Actions',
    cell: (row: LoginRow) =>
      row.state !== 'granted' || row.upstream === ''
        ? ''
        : html`<${ActionButton}
            label="Log out"
            about=${`${formatOwner(row)} of ${row.upstream}`}
            kind="danger"
            act=${() => postJson('forget-login', { upstream: row.upstream, account: row.account })}
            done=${again}
          />`,
  }
  return [
    { head: 'Server', cell: row => html`<bdi>${row.upstream || row.resource}</bdi>` },
    { head: 'Account', cell: row => html`<bdi>${formatOwner(row)}</bdi>` },
    {
      head: 'State',
      cell: row =>
        html`<${Badge}
          of=${row.state === 'granted' ? 'logged in' : 'login required'}
          tone=${row.state === 'granted' ? 'good' : 'warn'}
        />`,
    },
    { head: 'Details', isText: true, cell: row => html`<${LoginDetails} row=${row} />` },
    ...(acts ? [end] : []),
    {
      head: 'Scopes',
      isMinor: true,
      cell: ({ scopes = [] }) => html`<span class="soft">${scopes.join(' ')}</span>`,
    },
  ]
}

function formatOwner({ account, caller }: LoginRow): string {
  if (caller !== undefined) return caller
  return account === GATEWAY ? 'the gateway (all callers)' : account.slice(0, MAX_DIGEST)
}

function LoginDetails({ row }: { row: LoginRow }): ViewNode {
  const { state, why, upstream, caller, renews, expiresAt, issuer = '', lostAt, since } = row
  if (state === 'granted') {
    const expires = `expires in ${formatDuration(Math.max(0, (expiresAt ?? 0) - Date.now()))}`
    const end = renews === true ? 'renews automatically' : expiresAt === undefined ? '' : expires
    return html`<span class="soft">${[end, issuer].filter(Boolean).join(', by ')}</span>`
  }
  const at = lostAt ?? since
  const account = caller === undefined ? '' : ` --account '${caller.replaceAll("'", `'\\''`)}'`
  return html`<div class="advice">
    <span>${why}${at === undefined ? '' : ` (${formatAge(at)})`}</span>
    <code>${`gateway login ${upstream}${account}`}</code>
  </div>`
}
