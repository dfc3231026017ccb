import { html } from 'htm/preact'
import { render } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { SessionInfo, PagePart } from '../types.ts'
import { formatApiUrl, getJson, listenToEvents, logIn, logOut, onAnswer, onSignedOut } from './api.ts'
import type { ViewNode } from './components.ts'
import { formatTime, Page, Snippet } from './components.ts'
import type { PageProps } from './state.ts'
import { APPROVAL_QUERY, AwaySince, emitToPages, clearAnswers, formatHash, usePageLocation, useQuery } from './state.ts'
import { Agents } from './views/agents.ts'
import { Approvals, Logins } from './views/logins.ts'
import { Cache, Config } from './views/config.ts'
import { Calls, Clients } from './views/calls.ts'
import { Connect } from './views/connect.ts'
import { Keys } from './views/keys.ts'
import { Missing } from './views/missing.ts'
import { Overview } from './views/overview.ts'
import { Server } from './views/server.ts'
import { Tools } from './views/tools.ts'

interface PageEntry {
  readonly id: string
  readonly title: string
  readonly part?: PagePart
  /** Page in the menu that this one is reached from. */
  readonly parent?: string
  readonly view: (props: PageProps) => ViewNode
}

const OVERVIEW: PageEntry = { id: 'overview', title: 'Overview', view: Overview }

/** Pages in menu order. A page with a `part` shows how to configure it if the gateway does not have it. */
const PAGES: readonly PageEntry[] = [
  OVERVIEW,
  { id: 'server', title: 'Server', parent: 'overview', view: Server },
  { id: 'calls', title: 'Calls', view: Calls },
  { id: 'tools', title: 'Tools', view: Tools },
  { id: 'clients', title: 'Clients', view: Clients },
  { id: 'approvals', title: 'Approvals', part: 'approvals', view: Approvals },
  { id: 'logins', title: 'Logins', part: 'logins', view: Logins },
  { id: 'agents', title: 'Tasks and agents', view: Agents },
  { id: 'cache', title: 'Cache', part: 'cache', view: Cache },
  { id: 'config', title: 'Configuration', view: Config },
  { id: 'connect', title: 'Connect', view: Connect },
]

type LoginPhase =
  | { readonly is: 'waiting' }
  | { readonly is: 'out'; readonly why: string }
  | { readonly is: 'in'; readonly me: SessionInfo }

function App(): ViewNode {
  const [phase, setPhase] = useState<LoginPhase>({ is: 'waiting' })
  const loadSession = (refused?: unknown): Promise<void> =>
    getJson<SessionInfo>('api/session').then(
      me => setPhase({ is: 'in', me }),
      (error: unknown) => setPhase({ is: 'out', why: getLoginProblem(refused ?? error) }),
    )
  // A used link changes neither login nor logout.
  const start = (): void => void logInWithLink().then(() => loadSession(), loadSession)
  useEffect(() => {
    onSignedOut(why => {
      clearAnswers()
      setPhase({ is: 'out', why })
    })
    start()
    // Another link in the same tab changes only the URL fragment.
    const changed = (): void => {
      if (parseToken(location.hash) !== undefined) start()
    }
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  if (phase.is === 'waiting') return html`<main class="out" aria-busy="true"></main>`
  if (phase.is === 'out') return html`<${LoginPage} why=${phase.why} enter=${loadSession} key=${phase.why} />`
  return html`<${Shell} me=${phase.me} />`
}

/** Reason for the login page; empty before the first attempt. */
function getLoginProblem(error: unknown): string {
  return error instanceof Error && !/log in/.test(error.message) ? error.message : ''
}

function parseToken(hash: string): string | undefined {
  return /^#token=([\w-]+)$/.exec(hash)?.[1]
}

/** Removes the token from the URL and logs in with it. */
async function logInWithLink(): Promise<void> {
  const token = parseToken(location.hash)
  if (token === undefined) return
  history.replaceState(undefined, '', '#/overview')
  dispatchEvent(new HashChangeEvent('hashchange'))
  await logIn({ token })
}

function LoginPage({ why, enter }: { why: string; enter: () => Promise<void> }): ViewNode {
  const [problem, setProblem] = useState(why)
  const [credential, setCredential] = useState('')
  const submit = (event: Event): void => {
    event.preventDefault()
    logIn({ credential: credential.trim() }).then(
      () => enter(),
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    )
  }
  return html`<main class="out">
    <h1>Log in</h1>
    ${problem === '' ? null : html`<p class="problem" role="alert">${problem}</p>`}
    <p>Run this command on the gateway's machine:</p>
    <${Snippet} text="gateway ui" label="Command" />
    <form onSubmit=${submit}>
      <label class="field wide"
        ><span>Or enter an API key or access token</span>
        <input
          type="password"
          required
          autocomplete="off"
          value=${credential}
          onInput=${(event: { currentTarget: HTMLInputElement }) => setCredential(event.currentTarget.value)}
      /></label>
      <button class="main">Log in</button>
    </form>
  </main>`
}

function Shell({ me }: { me: SessionInfo }): ViewNode {
  const route = usePageLocation()
  const [isLive, setLive] = useState(true)
  const [awaySince, setAwaySince] = useState<number | undefined>()
  useEffect(() => {
    onAnswer(isAnswering => setAwaySince(since => (isAnswering ? undefined : (since ?? Date.now()))))
    return listenToEvents(emitToPages, setLive)
  }, [])
  const current = PAGES.find(({ id }) => id === route.page) ?? OVERVIEW
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  const focusTitle = (): void => main.current?.querySelector('h1')?.focus()
  useEffect(() => {
    document.title = `${current.title} · ${me.gateway.name}`
    if (!isFirst.current) focusTitle()
    isFirst.current = false
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [current.id])
  // Keep the URL fragment, which holds the page location.
  const skip = (event: Event): void => {
    event.preventDefault()
    focusTitle()
  }
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to content</a>
    <${Header} me=${me} current=${current} isLive=${isLive && awaySince === undefined} />
    <main id="main" ref=${main}>
      <${AwaySince.Provider} value=${awaySince}>
        <${AwayBanner} />
        <${CurrentPage} of=${current} me=${me} route=${route} key=${current.id} />
      </${AwaySince.Provider}>
    </main>`
}

interface HeaderProps {
  readonly me: SessionInfo
  readonly current: PageEntry
  readonly isLive: boolean
}

function Header({ me, current, isLive }: HeaderProps): ViewNode {
  const getCurrent = (id: string): string | undefined =>
    id === current.id ? 'page' : id === current.parent ? 'true' : undefined
  return html`<header>
    <p class="brand">
      ${me.gateway.name} ${' '}
      <small>${me.gateway.version} ${me.replica === undefined ? '' : `replica ${me.replica}`}</small>
      ${me.env === undefined ? null : html`${' '}<span class="badge" title="Environment">${me.env}</span>`}
    </p>
    <nav aria-label="Pages">
      <ul>
        ${PAGES.filter(({ parent }) => parent === undefined).map(
          ({ id, title }) =>
            html`<li>
              <a href=${formatHash(id)} aria-current=${getCurrent(id)}
                >${title}${id === 'approvals' && me.parts.includes(id) ? html`<${ApprovalCount} />` : null}</a
              >
            </li>`,
        )}
      </ul>
    </nav>
    <div class="who">
      <span class=${isLive ? 'live' : 'live off'} role="status">${isLive ? 'live' : 'connecting'}</span>
      <span class="subject" title=${me.issuer}
        >${me.subject === 'anonymous' ? 'owner' : me.subject}${me.acts ? '' : ' (read-only)'}</span
      >
      <${Keys} />
      <button type="button" onClick=${() => void logOut()}>Log out</button>
    </div>
  </header>`
}

function AwayBanner(): ViewNode {
  const since = useContext(AwaySince)
  if (since === undefined) return null
  return html`<p class="away" role="alert">
    The gateway has not answered since ${formatTime(since)}. Actions are disabled until it answers again.
  </p>`
}

/** Counts pending approvals; nothing without any. */
function ApprovalCount(): ViewNode {
  const { data } = useQuery<{ approvals: unknown[] }>(formatApiUrl('approvals'), APPROVAL_QUERY)
  const count = data?.approvals.length ?? 0
  return count === 0 ? null : html`${' '}<span class="badge warn" title="pending">${count}</span>`
}

function CurrentPage({ of, ...props }: PageProps & { of: (typeof PAGES)[number] }): ViewNode {
  const { part, title, view } = of
  return part === undefined || props.me.parts.includes(part)
    ? html`<${view} ...${props} />`
    : html`<${Page} title=${title}><${Missing} part=${part} /></${Page}>`
}

const app = document.getElementById('app')
if (app !== null) render(html`<${App} />`, app)
