import assert from 'node:assert/strict'
import { absent } from '../matrix/report-words.ts'
import type { Site, Cell } from '../matrix/cells.ts'
import type { Call, Offer } from '../matrix/offers.ts'
import type { Answers, Around, Era, Json, Peer } from '../matrix/peer.ts'

/** All that a check has to work with: one client that answers everything, and the means to have more. */
export interface Bench {
  readonly cell: Cell
  readonly site: Site
  readonly peer: Peer
  readonly offer: Offer
  readonly clientEra: Era
  readonly serverEra: Era
}

/** One requirement's test; it throws when the requirement is not met. */
export type Check = (bench: Bench) => Promise<void>

/** All that the answering client says when it is asked. */
export const ANSWERS: Answers = {
  'elicitation/create': params =>
    params['mode'] === 'url' ? { action: 'accept' } : { action: 'accept', content: filledIn(params) },
  'sampling/createMessage': params => ({
    role: 'assistant',
    model: 'matrix',
    ...(params['tools']
      ? {
          stopReason: 'toolUse',
          content: [{ type: 'tool_use', id: 'use-1', name: 'weather', input: { city: 'Oslo' } }],
        }
      : { stopReason: 'endTurn', content: { type: 'text', text: 'the model says hi' } }),
  }),
  'roots/list': () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }),
}

const VALUES: Json = {
  name: 'Ada',
  color: 'blue',
  context: 'tests',
  username: 'ada',
  email: 'ada@example.com',
  ok: true,
}

function filledIn({ requestedSchema }: Json): Json {
  const { properties = {}, required = [] } = requestedSchema as { properties?: Json; required?: string[] }
  return Object.fromEntries(
    required.filter(field => field in properties).map(field => [field, VALUES[field] ?? 'something']),
  )
}

/** All that the cell's server has for the requirement; the manifest says it is needed. */
export function needed<T>(value: T | undefined): T {
  if (value === undefined) throw new Error(absent)
  return value
}

/** Calls a tool. */
export function call(peer: Peer, { name, arguments: args = {} }: Call, around: Around = {}): Promise<Json> {
  return peer.request('tools/call', { name, arguments: args }, around)
}

/** The text of a result or a prompt, with whatever else is in it. */
export function shown(value: unknown): string {
  return JSON.stringify(value)
}

/** All text blocks of a tool's answer, one after the other. */
export function textOf(result: Json): string {
  const content = result['content'] as { type: string; text?: string }[]
  return content.map(block => block.text ?? '').join('\n')
}

/** Calls a tool and checks that it answered well. */
export async function succeeds(peer: Peer, wanted: Call, around: Around = {}): Promise<Json> {
  const result = await call(peer, wanted, around)
  assert.notEqual(result['isError'], true, `it failed: ${textOf(result)}`)
  if (wanted.says) assert.match(shown(result).replaceAll('\\"', '"'), wanted.says)
  return result
}

/** The JSON-RPC code a request was refused with. */
export async function refusal(request: Promise<Json>): Promise<number> {
  const error = await request.then(
    result => assert.fail(`it was answered: ${shown(result).slice(0, 200)}`),
    (reason: unknown) => reason as { code?: unknown; message?: string },
  )
  assert.equal(typeof error.code, 'number', `no JSON-RPC error but ${String(error.message ?? error)}`)
  return error.code as number
}

/** Every entry of a list, page after page. */
export async function listAll(peer: Peer, method: string, member: string, raw = false): Promise<Json[]> {
  const entries: Json[] = []
  let cursor: unknown
  do {
    const page = await peer.request(method, cursor === undefined ? {} : { cursor }, { raw })
    entries.push(...(page[member] as Json[]))
    cursor = page['nextCursor']
  } while (cursor !== undefined)
  return entries
}

/** Runs `act` until `told` resolves: a legacy client's own stream may open a moment after it connects. */
export async function until<T>(act: () => Promise<unknown>, told: () => Promise<T>): Promise<T> {
  let failure: unknown
  for (let attempt = 0; attempt < 3; attempt++) {
    await act()
    try {
      return await within(1_500, told())
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

function within<T>(milliseconds: number, promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return Promise.race([
    promise,
    new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error('nothing was heard of it')), milliseconds).unref()
    }),
  ])
}
