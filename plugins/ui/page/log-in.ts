import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { logIn } from './api.ts'
import { Snippet, type View } from './parts.ts'

/** Page for somebody whom the gateway does not know. */
export function LogIn({ why, enter }: { why: string; enter: () => void }): View {
  const [problem, setProblem] = useState(why)
  const [credential, setCredential] = useState('')
  const submit = (event: Event): void => {
    event.preventDefault()
    logIn({ credential: credential.trim() }).then(
      () => {
        setCredential('')
        enter()
      },
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    )
  }
  return html`<main class="out">
    <h1>Who is there?</h1>
    ${problem === '' ? null : html`<p class="problem" role="alert">${problem}</p>`}
    <p>On the machine of the gateway, this command opens the page:</p>
    <${Snippet} text="gateway ui" label="Command" />
    <form onSubmit=${submit}>
      <label class="field"
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
