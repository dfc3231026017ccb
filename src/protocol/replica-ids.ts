import type { JsonObject } from './json/json.ts'
import { isObject } from './json/json.ts'

/** Id of a gateway process, on this or another machine. */
const REPLICA_ID = '(r[0-9a-f]{16})'

const SESSION_ID = new RegExp(`^${REPLICA_ID}_`)

const SEALED_VALUE = new RegExp(String.raw`^${REPLICA_ID}\.`)

/** Strict, as other tools may have an argument called `handle`. */
const HANDLE = new RegExp(String.raw`^${REPLICA_ID}\.[\w-]{40,}$`)

const SESSION_QUERY = new RegExp(`[?&]sessionId=(${REPLICA_ID}_[^&#]*)`)

/** Scheme for the gateway's own resources. */
const OWN_URI = 'tapgate://'

/** Returns the prefix of a sealed value that only one process can use. */
export function formatReplicaPrefix(replicaId: string): string {
  return `${replicaId}.`
}

/** Splits a sealed value that only one process can use; undefined for other values. */
export function splitReplicaPrefix(value: string): { readonly replicaId: string; readonly value: string } | undefined {
  const [prefix, replicaId] = SEALED_VALUE.exec(value) ?? []
  return prefix === undefined || replicaId === undefined ? undefined : { replicaId, value: value.slice(prefix.length) }
}

/** Finds an HTTP request's session id, in its header or else its query. */
export function readRequestSessionId(id: string | undefined, url: string): string | undefined {
  return id ?? SESSION_QUERY.exec(url)?.[1]
}

/** Parses the replica id from a session id. */
export function parseSessionReplica(id: string | undefined): string | undefined {
  return id === undefined ? undefined : SESSION_ID.exec(id)?.[1]
}

/** Finds the replica that holds the parked call, task or handle of a request. */
export function findRequestReplica(params: JsonObject | undefined): string | undefined {
  if (params === undefined) return undefined
  const { requestState, taskId, notifications, uri } = params
  if (requestState !== undefined) return parseReplica(requestState)
  if (taskId !== undefined) return parseReplica(taskId)
  if (typeof uri === 'string') return parseUriReplica(uri)
  const named = findCallReplica(params)
  if (named !== undefined) return named
  return isObject(notifications) && Array.isArray(notifications.taskIds)
    ? notifications.taskIds.map(id => parseReplica(id)).find(id => id !== undefined)
    : undefined
}

/** Finds a call's replica. Large unparsed arguments are parsed only if they may contain one. */
function findCallReplica(params: JsonObject): string | undefined {
  const { arguments: args } = params
  return isObject(args) ? (findArgumentsReplica(args) ?? findArgumentsReplica(args.arguments)) : undefined
}

/** Finds the replica in a call's arguments, wrapped or not. */
function findArgumentsReplica(args: unknown): string | undefined {
  if (!isObject(args)) return undefined
  const { handle, uri } = args
  // Models may pass the URI instead of the handle.
  return typeof handle === 'string' ? (parseUriReplica(handle) ?? parseReplica(handle, HANDLE)) : parseUriReplica(uri)
}

function parseUriReplica(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !uri.startsWith(OWN_URI)) return undefined
  return parseReplica(uri.slice(uri.lastIndexOf('/') + 1))
}

function parseReplica(value: unknown, form?: RegExp): string | undefined {
  return typeof value === 'string' && form?.test(value) !== false ? splitReplicaPrefix(value)?.replicaId : undefined
}
