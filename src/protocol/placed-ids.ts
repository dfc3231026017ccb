import type { JsonObject } from './json/json.ts'
import { isObject } from './json/json.ts'

/** A process of several of one gateway, on this machine or on another. */
const PLACE = '(r[0-9a-f]{16})'

const OF_SESSION = new RegExp(`^${PLACE}_`)

const OF_SEALED = new RegExp(String.raw`^${PLACE}\.`)

/** Arguments of other people's tools may be called `handle`, too. */
const HANDLE = new RegExp(String.raw`^${PLACE}\.[\w-]{40,}$`)

const IN_QUERY = new RegExp(`[?&]sessionId=(${PLACE}_[^&#]*)`)

/** Scheme of the resources that the gateway itself has. */
const OWN_URI = 'tapgate://'

/** Beginning of a sealed value that only one process can use. */
export function sealedPrefix(place: string): string {
  return `${place}.`
}

/** Splits a sealed value that only one process can use; undefined for a value of any process. */
export function readSealed(value: string): { readonly place: string; readonly rest: string } | undefined {
  const [prefix, place] = OF_SEALED.exec(value) ?? []
  return prefix === undefined || place === undefined ? undefined : { place, rest: value.slice(prefix.length) }
}

/** The id of the conversation that an HTTP request belongs to: of its header, or else of its query. */
export function findConversation(id: string | undefined, url: string): string | undefined {
  return id ?? IN_QUERY.exec(url)?.[1]
}

/** The process that the id of a conversation names. */
export function placeOfConversation(id: string | undefined): string | undefined {
  return id === undefined ? undefined : OF_SESSION.exec(id)?.[1]
}

/** The process that holds what a request goes on with or asks for: a parked call, a task, or what has a handle. */
export function placeOfWork(params: JsonObject | undefined): string | undefined {
  if (params === undefined) return undefined
  const { requestState, taskId, notifications, uri } = params
  if (requestState !== undefined) return parseReplica(requestState)
  if (taskId !== undefined) return parseReplica(taskId)
  if (typeof uri === 'string') return placeOfUri(uri)
  const named = placeOfCall(params)
  if (named !== undefined) return named
  return isObject(notifications) && Array.isArray(notifications.taskIds)
    ? findMostCommon(notifications.taskIds.map(id => parseReplica(id)))
    : undefined
}

/** The process that a call names. Large arguments that nobody has read are read only where they may name one. */
function placeOfCall(params: JsonObject): string | undefined {
  const { arguments: given } = params
  return isObject(given) ? (placeOfArguments(given) ?? placeOfArguments(given.arguments)) : undefined
}

/** The process that arguments name, of a call or of one that another call carries. */
function placeOfArguments(given: unknown): string | undefined {
  if (!isObject(given)) return undefined
  const { handle, uri } = given
  // A model may give the URI where the handle is wanted.
  return typeof handle === 'string' ? (placeOfUri(handle) ?? parseReplica(handle, HANDLE)) : placeOfUri(uri)
}

function placeOfUri(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !uri.startsWith(OWN_URI)) return undefined
  return parseReplica(uri.slice(uri.lastIndexOf('/') + 1))
}

function parseReplica(value: unknown, form?: RegExp): string | undefined {
  return typeof value === 'string' && form?.test(value) !== false ? readSealed(value)?.place : undefined
}

function findMostCommon(places: readonly (string | undefined)[]): string | undefined {
  const counts = new Map<string, number>()
  for (const place of places) if (place !== undefined) counts.set(place, (counts.get(place) ?? 0) + 1)
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0]
}
