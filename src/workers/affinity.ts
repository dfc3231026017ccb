import type { Inbound } from '../api/index.ts'
import { isObject } from '../protocol/json/json.ts'

const OF_SESSION = /^w(\d{1,3})_/

const OF_SEALED = /^w(\d{1,3})\./

/** Arguments of other people's tools may be called `handle`, too. */
const HANDLE = /^w\d{1,3}\.[\w-]{40,}$/

/** Scheme of the resources that the gateway itself has. */
const OWN_URI = 'tapgate://'

const IN_QUERY = /[?&]sessionId=w(\d{1,3})_/

/** Prefix of the ids of a worker's sessions. */
export function sessionPrefix(number: number): string {
  return `w${number}_`
}

/** Prefix of a sealed value that only one worker can use. */
export function sealedPrefix(number: number): string {
  return `w${number}.`
}

/** The worker that a sealed value names, and what was sealed; undefined for a value of any worker. */
export function readSealed(value: string): { readonly number: number; readonly rest: string } | undefined {
  const [prefix, number] = OF_SEALED.exec(value) ?? []
  return prefix === undefined ? undefined : { number: Number(number), rest: value.slice(prefix.length) }
}

/** The worker that has the session of an HTTP request. */
export function whoseSession(id: string | undefined, url: string): number | undefined {
  const [, number] = (id === undefined ? IN_QUERY.exec(url) : OF_SESSION.exec(id)) ?? []
  return number === undefined ? undefined : Number(number)
}

/** The worker that holds what a request goes on with or asks for: a parked call, a task, or what has a handle. */
export function whoseWork({ params }: Inbound): number | undefined {
  if (params === undefined) return undefined
  const { requestState, taskId, notifications, uri, arguments: given } = params
  if (requestState !== undefined) return numberIn(requestState)
  if (taskId !== undefined) return numberIn(taskId)
  if (typeof uri === 'string')
    return uri.startsWith(OWN_URI) ? numberIn(uri.slice(uri.lastIndexOf('/') + 1)) : undefined
  if (isObject(given) && given.handle !== undefined) return numberIn(given.handle, HANDLE)
  return isObject(notifications) && Array.isArray(notifications.taskIds)
    ? mostOf(notifications.taskIds.map(id => numberIn(id)))
    : undefined
}

function numberIn(value: unknown, form?: RegExp): number | undefined {
  return typeof value === 'string' && form?.test(value) !== false ? readSealed(value)?.number : undefined
}

function mostOf(numbers: readonly (number | undefined)[]): number | undefined {
  const counts = new Map<number, number>()
  for (const number of numbers) if (number !== undefined) counts.set(number, (counts.get(number) ?? 0) + 1)
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0]
}
