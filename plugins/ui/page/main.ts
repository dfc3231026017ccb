import { html } from 'htm/preact'
import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Me } from '../types.ts'
import { get, listen, logIn, logOut, onSignedOut } from './api.ts'
import { LogIn } from './log-in.ts'
import { PAGES } from './pages.ts'
import type { View } from './parts.ts'
import { forgetAll, hashOf, tellPages, usePlace } from './state.ts'

type Phase =
  | { readonly is: 'waiting' }
  | { readonly is: 'out'; readonly why: string }
  | { readonly is: 'in'; readonly me: Me }

function App(): View {
  const [phase, setPhase] = useState<Phase>({ is: 'waiting' })
  const enter = (): void => {
    get<Me>('api/session').then(
      me => setPhase({ is: 'in', me }),
      (error: unknown) => setPhase({ is: 'out', why: whyOf(error) }),
    )
  }
  const arrive = (): void => {
    // A link that was used brings nobody in, but who is in already stays so.
    openLink().then(enter, (error: unknown) =>
      get<Me>('api/session').then(
        me => setPhase({ is: 'in', me }),
        () => setPhase({ is: 'out', why: whyOf(error) }),
      ),
    )
  }
  useEffect(() => {
    onSignedOut(why => {
      forgetAll()
      setPhase({ is: 'out', why })
    })
    arrive()
    // Another link in the same tab changes nothing but what stands behind the #.
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

/** Why somebody is not let in; nothing where nobody has tried yet. */
function whyOf(error: unknown): string {
  return error instanceof Error && !/log in/.test(error.message) ? error.message : ''
}

function tokenIn(hash: string): string | undefined {
  return /^#token=([\w-]+)$/.exec(hash)?.[1]
}

/** The token of a link is taken out of the address before anything else, and is good once. */
async function openLink(): Promise<void> {
  const token = tokenIn(location.hash)
  if (token === undefined) return
  history.replaceState(undefined, '', '#/overview')
  dispatchEvent(new HashChangeEvent('hashchange'))
  await logIn({ token })
}

function Shell({ me }: { me: Me }): View {
  const place = usePlace()
  const [isLive, setLive] = useState(true)
  useEffect(() => listen(tellPages, setLive), [])
  const pages = PAGES.filter(({ part }) => part === undefined || me.parts.includes(part))
  const current = pages.find(({ id }) => id === place.page) ?? pages[0]
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${current?.title ?? ''} · ${me.gateway.name}`
    if (!isFirst.current) main.current?.querySelector('h1')?.focus()
    isFirst.current = false
  }, [current?.id])
  return html`<a class="skip" href="#main" onClick=${skipTo(main)}>Skip to content</a>
    <header>
      <p class="brand">
        ${me.gateway.name} <small>${me.gateway.version}</small>${
          me.replica === undefined ? null : html` <small>${replicaText(me.replica)}</small>`
        }
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

function replicaText(name: string): string {
  return name === '' ? 'one replica of several' : `replica ${name}`
}

/** The address is for the place in the page, so that a jump must not change it. */
function skipTo(main: { readonly current: HTMLElement | null }): (event: Event) => void {
  return event => {
    event.preventDefault()
    main.current?.querySelector('h1')?.focus()
  }
}

const app = document.getElementById('app')
if (app !== null) render(html`<${App} />`, app)
