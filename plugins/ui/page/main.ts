import { html } from 'htm/preact'
import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Me, Part } from '../types.ts'
import { get, listen, logIn, logOut, onSignedOut } from './api.ts'
import type { View } from './parts.ts'
import { Snippet } from './parts.ts'
import type { PageProps } from './state.ts'
import { emitToPages, forgetAll, hashOf, usePlace } from './state.ts'
import { Agents } from './views/agents.ts'
import { Approvals } from './views/approvals.ts'
import { Cache } from './views/cache.ts'
import { Calls } from './views/calls.ts'
import { Clients } from './views/clients.ts'
import { Config } from './views/config.ts'
import { Connect } from './views/connect.ts'
import { Logins } from './views/logins.ts'
import { Overview } from './views/overview.ts'
import { Tools } from './views/tools.ts'

/** All pages, in the order of the list. One with a part is shown if the gateway has it. */
const PAGES: readonly {
  readonly id: string
  readonly title: string
  readonly part?: Part
  readonly view: (props: PageProps) => View
}[] = [
  { id: 'overview', title: 'Overview', view: Overview },
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

type Phase =
  | { readonly is: 'waiting' }
  | { readonly is: 'out'; readonly why: string }
  | { readonly is: 'in'; readonly me: Me }

function App(): View {
  const [phase, setPhase] = useState<Phase>({ is: 'waiting' })
  const enter = (refused?: unknown): Promise<void> =>
    get<Me>('api/session').then(
      me => setPhase({ is: 'in', me }),
      (error: unknown) => setPhase({ is: 'out', why: reasonOf(refused ?? error) }),
    )
  // A used link logs nobody in, and logs nobody out.
  const arrive = (): void => void openLink().then(() => enter(), enter)
  useEffect(() => {
    onSignedOut(why => {
      forgetAll()
      setPhase({ is: 'out', why })
    })
    arrive()
    // Another link in the same tab only changes what is behind the #.
    const changed = (): void => {
      if (tokenIn(location.hash) !== undefined) arrive()
    }
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  if (phase.is === 'waiting') return html`<main class="out" aria-busy="true"></main>`
  if (phase.is === 'out') return html`<${LogIn} why=${phase.why} enter=${enter} key=${phase.why} />`
  return html`<${Shell} me=${phase.me} />`
}

/** Why somebody is not logged in; empty before the first try. */
function reasonOf(error: unknown): string {
  return error instanceof Error && !/log in/.test(error.message) ? error.message : ''
}

function tokenIn(hash: string): string | undefined {
  return /^#token=([\w-]+)$/.exec(hash)?.[1]
}

/** Takes the token of a link out of the address, and logs in with it. */
async function openLink(): Promise<void> {
  const token = tokenIn(location.hash)
  if (token === undefined) return
  history.replaceState(undefined, '', '#/overview')
  dispatchEvent(new HashChangeEvent('hashchange'))
  await logIn({ token })
}

function LogIn({ why, enter }: { why: string; enter: () => Promise<void> }): View {
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
    <h1>Who is there?</h1>
    ${problem === '' ? null : html`<p class="problem" role="alert">${problem}</p>`}
    <p>On the machine of the gateway, this command opens the page:</p>
    <${Snippet} text="gateway ui" label="Command" />
    <form onSubmit=${submit}>
      <label class="field wide"
        ><span>Or paste an API key or an access token</span>
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

function Shell({ me }: { me: Me }): View {
  const place = usePlace()
  const [isLive, setLive] = useState(true)
  useEffect(() => listen(emitToPages, setLive), [])
  const pages = PAGES.filter(({ part }) => part === undefined || me.parts.includes(part))
  const current = pages.find(({ id }) => id === place.page) ?? pages[0]
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  const focusTitle = (): void => main.current?.querySelector('h1')?.focus()
  useEffect(() => {
    document.title = `${current?.title ?? ''} · ${me.gateway.name}`
    if (!isFirst.current) focusTitle()
    isFirst.current = false
  }, [current?.id])
  // The address is for the place in the page, so that a jump must not change it.
  const skip = (event: Event): void => {
    event.preventDefault()
    focusTitle()
  }
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to content</a>
    <header>
      <p class="brand">
        ${me.gateway.name} ${' '}
        <small>${me.gateway.version} ${me.replica === undefined ? '' : `replica ${me.replica}`}</small>
      </p>
      <nav aria-label="Pages">
        <ul>
          ${pages.map(
            ({ id, title }) =>
              html`<li>
                <a href=${hashOf(id)} aria-current=${id === current?.id ? 'page' : undefined}>${title}</a>
              </li>`,
          )}
        </ul>
      </nav>
      <div class="who">
        <span class=${isLive ? 'live' : 'live off'} role="status">${isLive ? 'live' : 'connecting'}</span>
        <span class="subject" title=${me.issuer}
          >${me.subject === 'anonymous' ? 'owner' : me.subject}${me.acts ? '' : ' (looks only)'}</span
        >
        <button type="button" onClick=${() => void logOut()}>Log out</button>
      </div>
    </header>
    <main id="main" ref=${main}>
      ${current === undefined ? null : html`<${current.view} me=${me} place=${place} key=${current.id} />`}
    </main>`
}

const app = document.getElementById('app')
if (app !== null) render(html`<${App} />`, app)
