import type { Answer, HttpReply, HttpErrorResponse, JsonObject, Notification } from '../../src/plugin.ts'
import { GatewayError, isObject, parseParams, getErrorMessage, RPC, TextStream } from '../../src/plugin.ts'
import type { RestRequest, RestSessions } from './road.ts'
import { problem, problemOf, problemOfThrown } from './road.ts'

const NAMES: ReadonlyMap<string, string> = new Map([
  ['notifications/progress', 'progress'],
  ['notifications/message', 'log'],
])

const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i

interface RestToolCall {
  /** The body as it came. */
  readonly received: JsonObject
  readonly params: { readonly name: string; readonly arguments: JsonObject }
}

/** POST /tools/call: the tool's result, or events and then the result. */
export async function callTool(request: RestRequest, sessions: RestSessions): Promise<HttpReply> {
  const form = formOf(request.http.header('accept').join(','))
  if (form === undefined) return problem(406, 'This is answered with application/json or text/event-stream')
  const wanted = await wantedBy(request)
  if ('status' in wanted) return wanted
  return form === 'json' ? inOnePiece(request, sessions, wanted) : asEvents(request, sessions, wanted)
}

/** Chooses between JSON and events by what a client accepts; where it accepts both, what it names first. */
function formOf(accept: string): 'json' | 'events' | undefined {
  const types = accept.split(',').map(part => part.split(';', 1)[0]?.trim().toLowerCase() ?? '')
  const named = types.find(type => type === 'text/event-stream' || type === 'application/json')
  if (named !== undefined) return named === 'application/json' ? 'json' : 'events'
  const takesAny = types.some(type => type === '' || type === '*/*' || type === 'application/*')
  return takesAny ? 'json' : undefined
}

async function wantedBy({ http }: RestRequest): Promise<RestToolCall | HttpReply> {
  if (!JSON_TYPE.test(http.header('content-type').join(',')))
    return problem(415, 'Content-Type must be application/json')
  try {
    return wantedIn(parseParams(await http.body()))
  } catch (thrown) {
    if (thrown instanceof GatewayError) return problemOfThrown(thrown)
    return problem(400, `The body cannot be read: ${getErrorMessage(thrown)}`)
  }
}

function wantedIn(value: unknown): RestToolCall | HttpReply {
  if (!isObject(value) || typeof value.name !== 'string')
    return problem(400, 'The body must be { "name": string, "arguments"?: object }')
  const { name, arguments: given = {} } = value
  if (!isObject(given)) return problem(400, '"arguments" must be an object')
  return { received: value, params: { name, arguments: given } }
}

async function inOnePiece(
  request: RestRequest,
  sessions: RestSessions,
  wanted: RestToolCall,
): Promise<HttpReply> {
  try {
    const answer = await sessions.within(request, false, visit =>
      visit.run({ method: 'tools/call', ...wanted, params: { ...wanted.params } }),
    )
    const result = resultOf(answer, wanted.params.name)
    if ('status' in result) return result
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(result.value),
    }
  } catch (thrown) {
    return problemOfThrown(thrown)
  }
}

/** Streams a call. A failure before the first event is a plain refusal; after that the stream says so. */
async function asEvents(
  request: RestRequest,
  sessions: RestSessions,
  wanted: RestToolCall,
): Promise<HttpReply> {
  const events = new CallEvents()
  const { received } = wanted
  const params = { ...wanted.params, _meta: { progressToken: 1 } }
  const ended = sessions
    .within(request, true, visit =>
      visit.run({ method: 'tools/call', params, received, emit: notification => events.tell(notification) }),
    )
    .then(answer => resultOf(answer, wanted.params.name), problemOfThrown)
  const refused = await Promise.race([events.begun, ended.then(end => ('status' in end ? end : undefined))])
  if (refused !== undefined) return refused
  void ended.then(end => events.finish(end))
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store, no-transform' },
    body: events.body,
  }
}

/** The result as a client without MCP reads it. A tool that failed is a result too: `isError` says so. */
function resultOf(answer: Answer, tool: string): { value: JsonObject } | HttpReply {
  if ('error' in answer) return withChallenge(problemOf(answer.error, tool), answer.http?.headers)
  if (!('result' in answer))
    return problemOf({
      code: RPC.missingCapability,
      message: `The client does not support ${askedFor(answer)}`,
    })
  const { resultType: _, ...value } = answer.result.value()
  return { value }
}

/** The scopes that a token lacks are said in the words of HTTP, as they are to clients of MCP (RFC 6750). */
function withChallenge(reply: HttpReply, headers: HttpErrorResponse['headers'] = {}): HttpReply {
  const challenge = headers['www-authenticate']
  return challenge === undefined
    ? reply
    : { ...reply, headers: { ...reply.headers, 'www-authenticate': challenge } }
}

/** Names the requests that a server makes of a client that cannot answer them. */
function askedFor(answer: Answer): string {
  const { inputRequests } = 'input' in answer ? answer.input.value() : {}
  const asks = isObject(inputRequests) ? Object.values(inputRequests) : []
  const methods = asks.map(ask => (isObject(ask) ? String(ask.method) : ''))
  return [...new Set(methods)].join(', ') || 'calls that go on after their answer'
}

type End = { readonly value: JsonObject } | HttpReply

/** Events of a call: progress and log messages on the way, then its result. */
class CallEvents {
  readonly body = new TextStream()
  /** Resolves with the first event. */
  readonly begun: Promise<undefined>
  #begin: () => void = () => undefined

  constructor() {
    this.begun = new Promise(resolve => (this.#begin = () => resolve(undefined)))
  }

  /** Progress and log messages; everything else is for clients of MCP. */
  tell({ method, params = {} }: Notification): void {
    const name = NAMES.get(method)
    if (name === undefined || !this.body.hasCapacity) return
    const { progressToken: _token, _meta, ...shown } = params
    this.body.append(eventText(name, JSON.stringify(shown)))
    this.#begin()
  }

  finish(end: End): void {
    if ('value' in end) this.body.end(eventText('result', JSON.stringify(end.value)))
    else this.body.end(eventText('error', typeof end.body === 'string' ? end.body : '{}'))
  }
}

function eventText(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`
}
