import type { Event, Json, Opened } from '../types.ts'

/** Place of the key of this browser. It belongs to this origin, port included, and to this path. */
const KEY = `tapgate-ui ${location.pathname}`
const MAX_PAUSE_MS = 15_000
const FORGOTTEN =
  'The gateway no longer knows this browser: it was started anew, or the time of the login is over.'

/** Answer that is an error. */
export class Failure extends Error {
  readonly status: number
  readonly hint: string

  constructor(status: number, message: string, hint = '') {
    super(message)
    this.status = status
    this.hint = hint
  }
}

export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  return new Failure(0, error instanceof Error ? error.message : String(error))
}

type Params = Readonly<Record<string, string | number | undefined>>

let signedOut: (why: string) => void = () => undefined

/** Calls `listener` when somebody has logged out, or the gateway no longer knows this browser. */
export function onSignedOut(listener: (why: string) => void): void {
  signedOut = listener
}

export function urlOf(name: string, params: Params = {}): string {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(params))
    if (value !== undefined && value !== '') query.set(key, String(value))
  return query.size === 0 ? `api/${name}` : `api/${name}?${query.toString()}`
}

export async function get<T>(url: string, signal?: AbortSignal): Promise<T> {
  return (await (await ask(url, signal === undefined ? {} : { signal })).json()) as T
}

export async function post<T>(name: string, body: Json = {}): Promise<T> {
  return (await (await ask(`api/${name}`, posted(body))).json()) as T
}

function posted(body: Json): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

async function ask(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.set('x-tapgate-ui', localStorage.getItem(KEY) ?? '')
  const response = await fetch(url, { ...init, headers, redirect: 'error' }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new Failure(0, 'The gateway does not answer.')
  })
  if (response.ok) return response
  const failure = await failureOf(response)
  if (failure.status === 401) signedOut(localStorage.getItem(KEY) === null ? '' : FORGOTTEN)
  throw failure
}

async function failureOf(response: Response): Promise<Failure> {
  const value = (await response.json().catch(() => ({}))) as {
    error?: { message?: string; hint?: string } | string
  }
  const { message = `The gateway answered ${response.status}.`, hint } =
    typeof value.error === 'object' ? value.error : {}
  return new Failure(response.status, message, hint)
}

/** Opens the page with the token of a link, or with a key or token that `auth` knows. */
export async function logIn(by: { readonly token: string } | { readonly credential: string }): Promise<void> {
  const init = posted('token' in by ? { token: by.token } : {})
  const headers = new Headers(init.headers)
  if ('credential' in by) headers.set('authorization', `Bearer ${by.credential}`)
  const response = await fetch('api/session', { ...init, headers })
  if (!response.ok) throw await failureOf(response)
  localStorage.setItem(KEY, ((await response.json()) as Opened).key)
}

export async function logOut(): Promise<void> {
  await post('logout').catch(() => undefined)
  localStorage.removeItem(KEY)
  signedOut('')
}

/** Hears events for as long as the page is open. A stream that ends is opened again, later each time; nobody is bothered. */
export function listen(onEvent: (event: Event) => void, onState: (isLive: boolean) => void): () => void {
  const stop = new AbortController()
  const hear = async (): Promise<void> => {
    let pause = 1000
    let isAgain = false
    while (!stop.signal.aborted) {
      try {
        const response = await ask('api/events', { signal: stop.signal })
        onState(true)
        // Events of the time between are lost.
        if (isAgain) onEvent({ type: 'missed', count: 0 })
        isAgain = true
        pause = 1000
        for await (const data of dataIn(response)) onEvent(JSON.parse(data) as Event)
      } catch (error) {
        if (error instanceof Failure && error.status === 401) return
      }
      onState(false)
      await new Promise(resolve => setTimeout(resolve, pause))
      pause = Math.min(pause * 2, MAX_PAUSE_MS)
    }
  }
  void hear()
  return () => stop.abort()
}

/** Runs a tool, and hears what happens until its end. */
export async function runTool(
  body: Json,
  onEvent: (event: Json) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await ask('api/run', { ...posted(body), signal })
  for await (const data of dataIn(response)) onEvent(JSON.parse(data) as Json)
}

async function* dataIn(response: Response): AsyncGenerator<string> {
  if (response.body === null) return
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const blocks = (text + value).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) if (block.startsWith('data: ')) yield block.slice('data: '.length)
  }
}
