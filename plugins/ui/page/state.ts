import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { SessionInfo } from '../types.ts'
import type { ApiFailure } from './api.ts'
import { getJson, toFailure } from './api.ts'

/** Recent answers, so that a page shows content immediately. */
const answersByUrl = new Map<string, unknown>()
const MAX_ANSWERS = 50

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
}

function storeAnswer(url: string, data: unknown): void {
  answersByUrl.delete(url)
  answersByUrl.set(url, data)
  if (answersByUrl.size > MAX_ANSWERS) answersByUrl.delete(String(answersByUrl.keys().next().value))
}

/** Fetches from the API, and refetches on a timer. */
export function useQuery<T>(url: string, { every }: QueryOptions = {}): QueryResult<T> {
  const [, setTurn] = useState(0)
  const [problem, setProblem] = useState<ApiFailure | undefined>()
  const current = useRef(url)
  current.current = url
  const asked = useRef('')
  const again = useCallback(() => {
    // Skip: the same request is in flight.
    if (asked.current === url) return
    asked.current = url
    void getJson<T>(url)
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
  return { data: answersByUrl.get(url) as T | undefined, problem, again }
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
