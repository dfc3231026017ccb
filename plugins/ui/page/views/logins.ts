import { html } from 'htm/preact'
import { postJson, formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import {
  ActionButton,
  formatAge,
  Badge,
  formatDuration,
  Page,
  Problem,
  quoteWord,
  Empty,
  Snippet,
  formatTime,
} from '../components.ts'
import type { PageProps } from '../state.ts'
import { useQuery } from '../state.ts'
import type { Column } from '../table.ts'
import { List } from '../table.ts'
import type { Json } from '../../types.ts'

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
    on: ['server', 'changed'],
  })
  return html`<${Page} title="Logins" lead="Stored logins to servers">
    <${Problem} of=${problem} />
    <${List}
      label="Logins"
      columns=${createColumns(me.acts, again)}
      rows=${data?.logins}
      keyOf=${(row: LoginRow) => JSON.stringify([row.upstream, row.account, row.resource, row.issuer])}
      none=${html`No logins. Run <code>gateway login</code> to log in.`}
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
    { head: 'Server', sortBy: 'upstream', cell: row => html`<bdi>${row.upstream || row.resource}</bdi>` },
    { head: 'Account', sortBy: 'caller', cell: row => html`<${LoginOwner} row=${row} />` },
    {
      ...{ head: 'State', sortBy: 'state' },
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

      cell: ({ scopes = [] }) => html`<span class="soft">${scopes.join(' ')}</span>`,
    },
  ]
}

/** Format: issuer, space, subject; issuer URLs contain no spaces. */
function LoginOwner({ row }: { row: LoginRow }): ViewNode {
  const [, issuer, subject] = /^(\S+) (.+)$/s.exec(row.caller ?? '') ?? []
  return issuer === undefined
    ? html`<bdi>${formatOwner(row)}</bdi>`
    : html`<bdi>${subject}</bdi> ${' '}<span class="soft">${issuer}</span>`
}

function formatOwner({ account, caller }: LoginRow): string {
  if (caller !== undefined) return caller
  return account === GATEWAY ? 'the gateway (all callers)' : account.slice(0, MAX_DIGEST)
}

function LoginDetails({ row }: { row: LoginRow }): ViewNode {
  const { state, why, upstream, caller, renews, expiresAt, issuer = '', lostAt, since } = row
  if (state === 'granted') {
    const end =
      renews === true
        ? 'renews automatically'
        : expiresAt === undefined
          ? ''
          : `expires in ${formatDuration(Math.max(0, expiresAt - Date.now()))}`
    return html`<span class="soft">${[end, issuer === '' ? '' : `by ${issuer}`].filter(Boolean).join(', ')}</span>`
  }
  const at = lostAt ?? since
  const account = caller === undefined ? '' : ` --account ${quoteWord(caller)}`
  return html`<div class="advice">
    <span>${why}${at === undefined ? '' : ` (${formatAge(at)})`}</span>
    <code>${`gateway login ${upstream}${account}`}</code>
  </div>`
}

const APPROVALS_EVERY_MS = 3000

/** Pending approvals. */
export function Approvals({ me }: PageProps): ViewNode {
  const { data, problem, again } = useQuery<{ approvals: Json[] }>(formatApiUrl('approvals'), {
    every: APPROVALS_EVERY_MS,
    on: ['changed'],
  })
  const rows = data?.approvals ?? []
  return html`<${Page} title="Approvals" lead=${rows.length === 0 ? '' : `${rows.length} pending`}>
    <${Problem} of=${problem} />
    ${rows.length === 0 ? html`<${Empty}>No pending approvals.</${Empty}>` : null}
    ${rows.map(row => html`<${PendingApproval} row=${row} acts=${me.acts} again=${again} key=${String(row.id)} />`)}
  </${Page}>`
}

export function PendingApproval({ row, acts, again }: { row: Json; acts: boolean; again: () => void }): ViewNode {
  const { id, name, rule, subject, issuer, upstream } = row
  const decide = (decision: string) => () => postJson('approval', { id, decision })
  return html`<section class="detail pending" aria-label=${`Call to ${String(name)}`}>
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
