import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Event, Me } from '../types.ts'
import type { Failure } from './api.ts'
import { get, toFailure } from './api.ts'

/** Answers of late, so that a page that is shown again stands there at once. */
const known = new Map<string, unknown>()
const MAX_KNOWN = 50

type Listener = (event: Event) => void
const listeners = new Set<Listener>()

export function emitToPages(event: Event): void {
  for (const listener of listeners) listener(event)
}

export function forgetAll(): void {
  known.clear()
}

/** Answer to a question that a page asks. */
export interface QueryState<T> {
  readonly data: T | undefined
  readonly problem: Failure | undefined
  readonly again: () => void
}

export interface AskOptions<T> {
  /** Asks again every so many milliseconds, while anybody can see the page. */
  readonly every?: number
  /** Asks again when this happens, twice a second at most. */
  readonly on?: readonly Event['type'][]
  /** Asks then only for what is new. */
  readonly newer?: {
    readonly urlOf: (data: T) => string
    readonly merged: (data: T, newer: T) => T
  }
}

function remember(url: string, data: unknown): void {
  known.delete(url)
  known.set(url, data)
  if (known.size > MAX_KNOWN) known.delete(String(known.keys().next().value))
}

/** Asks the API, and asks again when it is time. */
export function useAnswer<T>(url: string, { every, on = [], newer }: AskOptions<T> = {}): QueryState<T> {
  const [, setTurn] = useState(0)
  const [problem, setProblem] = useState<Failure | undefined>()
  const current = useRef(url)
  current.current = url
  const isAsking = useRef('')
  const ask = useCallback(
    (from: string, made: (answer: T) => T) => {
      // One that is on its way brings the same.
      if (isAsking.current === from) return
      isAsking.current = from
      void get<T>(from)
        .then(
          answer => {
            remember(url, made(answer))
            if (current.current !== url) return
            setProblem(undefined)
            setTurn(turn => turn + 1)
          },
          (error: unknown) => {
            if (current.current === url) setProblem(toFailure(error))
          },
        )
        .finally(() => {
          if (isAsking.current === from) isAsking.current = ''
        })
    },
    [url],
  )
  const again = useCallback(() => ask(url, answer => answer), [url])
  const heard = useCallback(() => {
    const data = known.get(url) as T | undefined
    if (data === undefined || newer === undefined) return again()
    ask(newer.urlOf(data), answer => newer.merged((known.get(url) as T | undefined) ?? data, answer))
  }, [url])
  useEffect(again, [url])
  useEffect(() => {
    if (every === undefined) return
    const timer = setInterval(() => void (document.hidden || again()), every)
    return () => clearInterval(timer)
  }, [url, every])
  useEvents(on, heard)
  return { data: known.get(url) as T | undefined, problem, again }
}

const THROTTLE_MS = 500

/** Runs `act` soon after such an event; once for many that come together. */
export function useEvents(on: readonly Event['type'][], act: () => void): void {
  useEffect(() => {
    if (on.length === 0) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const listener: Listener = ({ type }) => {
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

/** A list that comes page by page. */
export interface Listed<A, T> extends QueryState<A> {
  /** All rows that were read so far; undefined before the first. */
  readonly rows: readonly T[] | undefined
  /** Reads the next page; absent at the end. */
  readonly further?: () => void
  /** True once more than the first page is shown. */
  readonly hasMore: boolean
}

interface ListOptions<A, T> extends AskOptions<A> {
  readonly rowsOf: (answer: A) => readonly T[]
  /** Address of the next page, after so many rows. */
  readonly nextOf: (answer: A, count: number) => string | undefined
}

/** Asks for a list, and for its further pages when somebody wants them. */
export function useList<A, T>(url: string, { rowsOf, nextOf, ...options }: ListOptions<A, T>): Listed<A, T> {
  const asked = useAnswer<A>(url, options)
  const [more, setMore] = useState<{ readonly of: string; readonly pages: readonly A[] }>({
    of: url,
    pages: [],
  })
  const { data } = asked
  if (data === undefined) return { ...asked, rows: undefined, hasMore: false }
  const pages = [data, ...(more.of === url ? more.pages : [])]
  const rows = pages.flatMap(page => rowsOf(page))
  const next = nextOf(pages.at(-1) ?? data, rows.length)
  const further = (): void =>
    void get<A>(String(next)).then(
      page => setMore({ of: url, pages: [...pages.slice(1), page] }),
      asked.again,
    )
  return { ...asked, rows, hasMore: pages.length > 1, ...(next === undefined ? {} : { further }) }
}

/** A page of the page, with what is chosen on it: all of it stands in the address, so that nothing gets lost. */
export interface PageLocation {
  readonly page: string
  readonly params: URLSearchParams
}

export function usePlace(): PageLocation {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const changed = (): void => setHash(location.hash)
    addEventListener('hashchange', changed)
    // An effect runs after the first picture, and the address may have changed in between.
    changed()
    return () => removeEventListener('hashchange', changed)
  }, [])
  const [page = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  return { page: page || 'overview', params: new URLSearchParams(query) }
}

export function hashOf(page: string, params: Readonly<Record<string, string | undefined>> = {}): string {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(params))
    if (value !== undefined && value !== '') query.set(key, value)
  return query.size === 0 ? `#/${page}` : `#/${page}?${query.toString()}`
}

/** Changes what is chosen, without a step in the browser's history. */
export function choose(
  { page, params }: PageLocation,
  changes: Readonly<Record<string, string | undefined>>,
): void {
  history.replaceState(undefined, '', hashOf(page, { ...Object.fromEntries(params), ...changes }))
  dispatchEvent(new HashChangeEvent('hashchange'))
}

/** Parameters of each page. */
export interface PageProps {
  readonly me: Me
  readonly place: PageLocation
}
