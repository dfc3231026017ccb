import { html } from 'htm/preact'
import { post, urlOf } from '../api.ts'
import type { View } from '../parts.ts'
import { Act, ago, Badge, duration, Page, Problem } from '../parts.ts'
import type { PageProps } from '../state.ts'
import { useAnswer } from '../state.ts'
import type { Column } from '../table.ts'
import { List } from '../table.ts'

/** A login to a server, or one that is missing. */
interface LoginRow {
  /** The server; empty if the configuration no longer has it. */
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

/** Account of the gateway itself, whose login all callers share. */
const GATEWAY = 'gateway'
/** A digest is told from others by its beginning. */
const MAX_DIGEST = 16

/** Logins to servers that the gateway keeps, and those that are missing. */
export function Logins({ me }: PageProps): View {
  const { data, problem, again } = useAnswer<{ logins: LoginRow[] }>(urlOf('logins'), {
    every: EVERY_MS,
    on: ['server', 'changed'],
  })
  return html`<${Page} title="Logins" lead="Kept by the gateway for its servers">
    <${Problem} of=${problem} />
    <${List}
      label="Logins"
      columns=${columnsFor(me.acts, again)}
      rows=${data?.logins}
      keyOf=${(row: LoginRow) => JSON.stringify([row.upstream, row.account, row.resource, row.issuer])}
      none=${html`No login is kept. <code>gateway login</code> makes one.`}
      isStacked=${true}
    />
  </${Page}>`
}

function columnsFor(acts: boolean, again: () => void): Column<LoginRow>[] {
  const end = {
    head: 'Do',
    cell: (row: LoginRow) =>
      row.state !== 'granted' || row.upstream === ''
        ? ''
        : html`<${Act}
            label="Log out"
            about=${`${whose(row)} of ${row.upstream}`}
            kind="danger"
            act=${() => post('forget-login', { upstream: row.upstream, account: row.account })}
            done=${again}
          />`,
  }
  return [
    { head: 'Server', cell: row => html`<bdi>${row.upstream || row.resource}</bdi>` },
    { head: 'Whose', cell: row => html`<${Whose} row=${row} />` },
    {
      head: 'State',
      cell: row =>
        html`<${Badge}
          of=${row.state === 'granted' ? 'logged in' : 'no login'}
          tone=${row.state === 'granted' ? 'good' : 'warn'}
        />`,
    },
    { head: 'Why, and what to do', isText: true, cell: row => html`<${Why} row=${row} />` },
    ...(acts ? [end] : []),
    {
      head: 'Scopes',
      isMinor: true,
      cell: ({ scopes = [] }) => html`<span class="soft">${scopes.join(' ')}</span>`,
    },
  ]
}

/** A caller of an issuer is its name, then the issuer: addresses have no spaces. */
function Whose({ row }: { row: LoginRow }): View {
  const [, issuer, subject] = /^(\S+) (.+)$/s.exec(row.caller ?? '') ?? []
  return issuer === undefined
    ? html`<bdi>${whose(row)}</bdi>`
    : html`<bdi>${subject}</bdi> ${' '}<span class="soft">${issuer}</span>`
}

function whose({ account, caller }: LoginRow): string {
  if (caller !== undefined) return caller
  return account === GATEWAY ? 'the gateway, for all' : account.slice(0, MAX_DIGEST)
}

function Why({ row }: { row: LoginRow }): View {
  const { state, why, upstream, caller, renews, expiresAt, issuer = '', lostAt, since } = row
  if (state === 'granted') {
    const end =
      renews === true
        ? 'is renewed'
        : expiresAt === undefined
          ? ''
          : `ends in ${duration(Math.max(0, expiresAt - Date.now()))}`
    return html`<span class="soft"
      >${[end, issuer === '' ? '' : `by ${issuer}`].filter(Boolean).join(', ')}</span
    >`
  }
  const at = lostAt ?? since
  const account = caller === undefined ? '' : ` --account '${caller.replaceAll("'", `'\\''`)}'`
  return html`<div class="advice">
    <span>${why}${at === undefined ? '' : ` (${ago(at)})`}</span>
    <code>${`gateway login ${upstream}${account}`}</code>
  </div>`
}
