import { createContext } from 'preact'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Event, SessionInfo } from '../types.ts'
import type { ApiFailure } from './api.ts'
import { getJson, toFailure } from './api.ts'

/** Time since which the gateway does not answer; undefined while it does. */
export const AwaySince = createContext<number | undefined>(undefined)

/** Longest wait for an answer that is asked for again and again. */
const MAX_WAIT_MS = 10_000

/** Recent answers, so that a page shows content immediately. */
const answersByUrl = new Map<string, unknown>()
const MAX_ANSWERS = 50

type EventListener = (event: Event) => void
const listeners = new Set<EventListener>()

export function emitToPages(event: Event): void {
  for (const listener of listeners) listener(event)
}

export function clearAnswers(): void {
  answersByUrl.clear()
}

export interface QueryResult<T> {
  readonly data: T | undefined
  readonly problem: ApiFailure | undefined
  readonly again: () => void
}

interface QueryOptions {
  /** Refetch interval in milliseconds, while the page is visible. */
  readonly every?: number
  /** Refetches on these events, at most twice a second. */
  readonly on?: readonly Event['type'][]
}

/** Pending approvals are asked for often, as clients wait. */
export const APPROVAL_QUERY: QueryOptions = { every: 3000, on: ['changed'] }

function storeAnswer(url: string, data: unknown): void {
  answersByUrl.delete(url)
  answersByUrl.set(url, data)
  if (answersByUrl.size > MAX_ANSWERS) answersByUrl.delete(String(answersByUrl.keys().next().value))
}

/** Fetches from the API, and refetches on events or a timer. */
export function useQuery<T>(url: string, { every, on = [] }: QueryOptions = {}): QueryResult<T> {
  const [, setTurn] = useState(0)
  const [problem, setProblem] = useState<ApiFailure | undefined>()
  const current = useRef(url)
  current.current = url
  const asked = useRef('')
  const again = useCallback(() => {
    // Skip: the same request is in flight.
    if (asked.current === url) return
    asked.current = url
    void getJson<T>(url, every === undefined ? undefined : AbortSignal.timeout(MAX_WAIT_MS))
      .then(
        answer => {
          storeAnswer(url, answer)
          if (current.current !== url) return
          setProblem(undefined)
          setTurn(count => count + 1)
        },
        (error: unknown) => {
          if (current.current === url) setProblem(toFailure(error))
        },
      )
      .finally(() => {
        if (asked.current === url) asked.current = ''
      })
  }, [url])
  useEffect(again, [url])
  useEffect(() => {
    if (every === undefined) return
    const timer = setInterval(() => void (document.hidden || again()), every)
    return () => clearInterval(timer)
  }, [url, every])
  useEvents(on, again)
  return { data: answersByUrl.get(url) as T | undefined, problem, again }
}

const THROTTLE_MS = 500

/** Runs `act` after these events; once for a burst. */
function useEvents(on: readonly Event['type'][], act: () => void): void {
  useEffect(() => {
    if (on.length === 0) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const listener: EventListener = ({ type }) => {
      if (!on.includes(type) && type !== 'missed') return
      timer ??= setTimeout(() => {
        timer = undefined
        if (!document.hidden) act()
      }, THROTTLE_MS)
    }
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      clearTimeout(timer)
    }
  }, [act, on.join()])
}

/** Paginated list. */
export interface ListResult<A, T> extends QueryResult<A> {
  /** Rows read so far; undefined before the first page. */
  readonly rows: readonly T[] | undefined
  /** Reads the next page; absent at the end. */
  readonly loadMore?: () => void
  /** True if more than the first page is shown. */
  readonly hasMore: boolean
}

interface ListOptions<A, T> extends QueryOptions {
  readonly getRows: (answer: A) => readonly T[]
  readonly getNextUrl: (answer: A, count: number) => string | undefined
}

/** Fetches a list, and its further pages on demand. */
export function useList<A, T>(url: string, { getRows, getNextUrl, ...options }: ListOptions<A, T>): ListResult<A, T> {
  const query = useQuery<A>(url, options)
  const [more, setMore] = useState<{ readonly of: string; readonly pages: readonly A[] }>({
    of: url,
    pages: [],
  })
  const { data } = query
  if (data === undefined) return { ...query, rows: undefined, hasMore: false }
  const pages = [data, ...(more.of === url ? more.pages : [])]
  const rows = pages.flatMap(page => getRows(page))
  const next = getNextUrl(pages.at(-1) ?? data, rows.length)
  const further = (): void =>
    void getJson<A>(String(next)).then(page => setMore({ of: url, pages: [...pages.slice(1), page] }), query.again)
  return { ...query, rows, hasMore: pages.length > 1, ...(next === undefined ? {} : { loadMore: further }) }
}

/** Current page and its selection, both stored in the URL. */
export interface PageLocation {
  readonly page: string
  readonly params: URLSearchParams
}

export function usePageLocation(): PageLocation {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const changed = (): void => setHash(location.hash)
    addEventListener('hashchange', changed)
    // The URL may have changed between the first render and this effect.
    changed()
    return () => removeEventListener('hashchange', changed)
  }, [])
  const [page = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  return { page: page || 'overview', params: new URLSearchParams(query) }
}

export function formatHash(page: string, params: Readonly<Record<string, string | undefined>> = {}): string {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(params)) if (value !== undefined && value !== '') query.set(key, value)
  return query.size === 0 ? `#/${page}` : `#/${page}?${query.toString()}`
}

/** Changes the selection without a history entry. */
export function updateParams(
  { page, params }: PageLocation,
  changes: Readonly<Record<string, string | undefined>>,
): void {
  history.replaceState(undefined, '', formatHash(page, { ...Object.fromEntries(params), ...changes }))
  dispatchEvent(new HashChangeEvent('hashchange'))
}

export interface PageProps {
  readonly me: SessionInfo
  readonly route: PageLocation
}
