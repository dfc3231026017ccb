import type { Event, Json, LoginReply } from '../types.ts'

/** Storage key for this browser's secret; specific to the origin and path. */
const STORAGE_KEY = `tapgate-ui ${location.pathname}`
const MAX_RECONNECT_DELAY_MS = 15_000
/** Proxy statuses if the gateway does not answer. */
const PROXY_FAILURES = [502, 504]
const SESSION_ENDED_TEXT = 'Session expired, or the gateway was restarted: log in again.'

export class ApiFailure extends Error {
  readonly status: number
  readonly hint: string

  constructor(status: number, message: string, hint = '') {
    super(message)
    this.status = status
    this.hint = hint
  }
}

export function toFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error
  return new ApiFailure(0, error instanceof Error ? error.message : String(error))
}

type QueryParams = Readonly<Record<string, string | number | undefined>>

let signedOutListener: (reason: string) => void = () => undefined

/** Calls `listener` after a logout or an expired session. */
export function onSignedOut(listener: (reason: string) => void): void {
  signedOutListener = listener
}

let answerListener: (isAnswering: boolean) => void = () => undefined

/** Calls `listener` after each request with whether the gateway answered it. */
export function onAnswer(listener: (isAnswering: boolean) => void): void {
  answerListener = listener
}

export function formatApiUrl(name: string, params: QueryParams = {}): string {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(params))
    if (value !== undefined && value !== '') query.set(key, String(value))
  return query.size === 0 ? `api/${name}` : `api/${name}?${query.toString()}`
}

export async function getJson<T>(url: string, signal?: AbortSignal): Promise<T> {
  return (await (await fetchApi(url, signal === undefined ? {} : { signal })).json()) as T
}

export async function postJson<T>(name: string, body: Json = {}): Promise<T> {
  return (await (await fetchApi(`api/${name}`, createPostInit(body))).json()) as T
}

function createPostInit(body: Json): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

async function fetchApi(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.set('x-tapgate-ui', localStorage.getItem(STORAGE_KEY) ?? '')
  const response = await fetch(url, { ...init, headers, redirect: 'error' }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    // One slow answer does not mean that the gateway is away.
    if (!(error instanceof DOMException && error.name === 'TimeoutError')) answerListener(false)
    throw new ApiFailure(0, 'The gateway is not reachable.')
  })
  answerListener(!PROXY_FAILURES.includes(response.status))
  if (response.ok) return response
  const failure = await readFailure(response)
  if (failure.status === 401) signedOutListener(localStorage.getItem(STORAGE_KEY) === null ? '' : SESSION_ENDED_TEXT)
  throw failure
}

async function readFailure(response: Response): Promise<ApiFailure> {
  const value = (await response.json().catch(() => ({}))) as {
    error?: { message?: string; hint?: string } | string
  }
  const { message = `The gateway answered HTTP ${response.status}.`, hint } =
    typeof value.error === 'object' ? value.error : {}
  return new ApiFailure(response.status, message, hint)
}

/** Logs in with a link token, or with an API key or access token. */
export async function logIn(by: { readonly token: string } | { readonly credential: string }): Promise<void> {
  const init = createPostInit('token' in by ? { token: by.token } : {})
  const headers = new Headers(init.headers)
  if ('credential' in by) headers.set('authorization', `Bearer ${by.credential}`)
  const response = await fetch('api/session', { ...init, headers })
  if (!response.ok) throw await readFailure(response)
  localStorage.setItem(STORAGE_KEY, ((await response.json()) as LoginReply).key)
}

export async function logOut(): Promise<void> {
  await postJson('logout').catch(() => undefined)
  localStorage.removeItem(STORAGE_KEY)
  signedOutListener('')
}

/** Receives events until the page closes. Reconnects with increasing delays. */
export function listenToEvents(onEvent: (event: Event) => void, onState: (isLive: boolean) => void): () => void {
  const stop = new AbortController()
  const receive = async (): Promise<void> => {
    let pause = 1000
    let isAgain = false
    while (!stop.signal.aborted) {
      try {
        const response = await fetchApi('api/events', { signal: stop.signal })
        onState(true)
        // Events during the interruption are lost.
        if (isAgain) onEvent({ type: 'missed', count: 0 })
        isAgain = true
        pause = 1000
        for await (const data of readEventData(response)) onEvent(JSON.parse(data) as Event)
      } catch (error) {
        if (error instanceof ApiFailure && error.status === 401) return
      }
      onState(false)
      await new Promise(resolve => setTimeout(resolve, pause))
      pause = Math.min(pause * 2, MAX_RECONNECT_DELAY_MS)
    }
  }
  void receive()
  return () => stop.abort()
}

/** Runs a tool and receives its events until it ends. */
export async function runTool(body: Json, onEvent: (event: Json) => void, signal: AbortSignal): Promise<void> {
  const response = await fetchApi('api/run', { ...createPostInit(body), signal })
  for await (const data of readEventData(response)) onEvent(JSON.parse(data) as Json)
}

async function* readEventData(response: Response): AsyncGenerator<string> {
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
