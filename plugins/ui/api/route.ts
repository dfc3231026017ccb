import type { HttpReply, JsonObject } from '../../../src/plugin.ts'
import type { Reader } from '../access/admission.ts'
import type { PageRequest } from '../access/page-request.ts'

/** A question to the API, from somebody who may ask it. */
export interface Question {
  readonly http: PageRequest
  readonly reader: Reader
  /** Parameters of the query. */
  text(name: string): string | undefined
  /** A number of the query within bounds; the default where there is none. */
  count(
    name: string,
    bounds: { readonly least: number; readonly most: number; readonly usual: number },
  ): number
  /** The body of a POST. */
  readonly body: JsonObject
}

/** One thing that the API answers. The table of them is what is served, and what the OpenAPI document says. */
export interface Route {
  readonly method: 'GET' | 'POST'
  /** Last part of its path. */
  readonly name: string
  readonly summary: string
  /** True where it changes something, has a server do something, or tells what callers have said. */
  readonly acts?: true
  /** True for what is for the owner alone, who has opened a link. */
  readonly isForOwner?: true
  /** Parameters of the query, by name, with what they mean. */
  readonly query?: Readonly<Record<string, string>>
  /** Members of the body, by name, as JSON Schema. */
  readonly body?: Readonly<Record<string, JsonObject>>
  /** Members of the body that must be there. */
  readonly required?: readonly string[]
  /** Description of the answer. */
  readonly answer: string
  run(question: Question): unknown
}

/** A value that is sent as JSON, or a whole reply. */
export class Reply {
  readonly http: HttpReply

  constructor(http: HttpReply) {
    this.http = http
  }
}

/** A refusal of the API in words for people. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Proxies that hold answers back would hold these back for ever. */
export const EVENTS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

/** Rows of one page of a list. */
export const MOST_ROWS = 500
export const ROWS = { least: 1, most: MOST_ROWS, usual: 100 }
/** Any whole number. */
export const ANY = { least: 0, most: Number.MAX_SAFE_INTEGER, usual: 0 }

/** Refuses what is not there. */
export function missing(message: string): never {
  throw new ApiError(404, message)
}
