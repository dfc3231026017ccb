import type { Answer, HttpReply, JsonObject, Notification } from '../../src/plugin.ts'
import { GatewayError, isObject, parseParams, getErrorMessage, RPC, TextStream } from '../../src/plugin.ts'
import type { RestRequest } from './mcp-session.ts'
import { problem, toProblem, toProblemFromThrown, withSession } from './mcp-session.ts'

const EVENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['notifications/progress', 'progress'],
  ['notifications/message', 'log'],
])

const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i

interface RestToolCall {
  /** Request body as received. */
  readonly received: JsonObject
  readonly params: { readonly name: string; readonly arguments: JsonObject }
}

/** POST /tools/call: replies with the result, or with events and then the result. */
export async function callTool(request: RestRequest): Promise<HttpReply> {
  const form = negotiateFormat(request.http.header('accept').join(','))
  if (form === undefined) return problem(406, 'Accept must allow application/json or text/event-stream')
  const toolCall = await readCall(request)
  if ('status' in toolCall) return toolCall
  return form === 'json' ? replyWithJson(request, toolCall) : replyWithEvents(request, toolCall)
}

/** Chooses JSON or events by the Accept header; the first match wins. */
function negotiateFormat(accept: string): 'json' | 'events' | undefined {
  const types = accept.split(',').map(part => part.split(';', 1)[0]?.trim().toLowerCase() ?? '')
  const named = types.find(type => type === 'text/event-stream' || type === 'application/json')
  if (named !== undefined) return named === 'application/json' ? 'json' : 'events'
  const takesAny = types.some(type => type === '' || type === '*/*' || type === 'application/*')
  return takesAny ? 'json' : undefined
}

async function readCall({ http }: RestRequest): Promise<RestToolCall | HttpReply> {
  if (!JSON_TYPE.test(http.header('content-type').join(',')))
    return problem(415, 'Content-Type must be application/json')
  try {
    return parseCall(parseParams(await http.body()))
  } catch (thrown) {
    if (thrown instanceof GatewayError) return toProblemFromThrown(thrown)
    return problem(400, `Invalid body: ${getErrorMessage(thrown)}`)
  }
}

function parseCall(value: unknown): RestToolCall | HttpReply {
  if (!isObject(value) || typeof value.name !== 'string')
    return problem(400, 'The body must be { "name": string, "arguments"?: object }')
  const { name, arguments: args = {} } = value
  if (!isObject(args)) return problem(400, '"arguments" must be an object')
  return { received: value, params: { name, arguments: args } }
}

async function replyWithJson(request: RestRequest, toolCall: RestToolCall): Promise<HttpReply> {
  const end = await withSession(request, false, send =>
    send({ method: 'tools/call', ...toolCall, params: { ...toolCall.params } }),
  ).then(toResult, toProblemFromThrown)
  if ('status' in end) return end
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(end.value) }
}

/** Streams a call. A failure before the first event is a plain error reply; later ones are events. */
async function replyWithEvents(request: RestRequest, { params, received }: RestToolCall): Promise<HttpReply> {
  const events = new CallEvents()
  const completion = withSession(request, true, send =>
    send({
      method: 'tools/call',
      params: { ...params, _meta: { progressToken: 1 } },
      received,
      emit: notification => events.emit(notification),
    }),
  ).then(toResult, toProblemFromThrown)
  const refused = await Promise.race([events.firstEvent, completion.then(end => ('status' in end ? end : undefined))])
  if (refused !== undefined) return refused
  void completion.then(end => events.finish(end))
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store, no-transform' },
    body: events.body,
  }
}

/** Result for clients without MCP. A tool failure is a result with `isError`. */
function toResult(answer: Answer): CallEnd {
  if ('error' in answer) {
    const challenge = answer.http?.headers?.['www-authenticate']
    return toProblem(answer.error, challenge === undefined ? {} : { 'www-authenticate': challenge })
  }
  if (!('result' in answer))
    return toProblem({
      code: RPC.missingCapability,
      message: `The client does not support ${listInputMethods(answer)}`,
    })
  const { resultType: _, ...value } = answer.result.value()
  return { value }
}

/** Lists the client request methods that a REST client cannot answer. */
function listInputMethods(answer: Answer): string {
  const { inputRequests } = 'input' in answer ? answer.input.value() : {}
  const requests = isObject(inputRequests) ? Object.values(inputRequests) : []
  const methods = requests.map(ask => (isObject(ask) ? String(ask.method) : ''))
  return [...new Set(methods)].join(', ') || 'calls that continue in the background'
}

type CallEnd = { readonly value: JsonObject } | HttpReply

/** A call's event stream: progress and log messages, then the result. */
class CallEvents {
  readonly body = new TextStream()
  readonly firstEvent: Promise<undefined>
  #signalFirstEvent: () => void = () => undefined

  constructor() {
    this.firstEvent = new Promise(resolve => (this.#signalFirstEvent = () => resolve(undefined)))
  }

  /** Sends progress and log messages; ignores other notifications. */
  emit({ method, params = {} }: Notification): void {
    const name = EVENT_NAMES.get(method)
    if (name === undefined || !this.body.hasCapacity) return
    const { progressToken: _token, _meta, ...visibleParams } = params
    this.body.append(formatEvent(name, JSON.stringify(visibleParams)))
    this.#signalFirstEvent()
  }

  finish(end: CallEnd): void {
    if ('value' in end) this.body.end(formatEvent('result', JSON.stringify(end.value)))
    else this.body.end(formatEvent('error', typeof end.body === 'string' ? end.body : '{}'))
  }
}

function formatEvent(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`
}
