import type {
  Answer,
  AskReply,
  Choices,
  Inbound,
  JsonObject,
  Notification,
  Principal,
  RpcError,
  Session,
  SessionInit,
} from '../../api/index.ts'
import { ANONYMOUS, keepToken, principalKey, tokenOf } from '../../api/principal.ts'
import { isObject } from '../../protocol/json/json.ts'
import { findValue } from '../../protocol/json/members.ts'
import { oneLine } from '../../protocol/params-as-written.ts'
import { Payload } from '../../protocol/payload.ts'
import type { Era } from '../../protocol/versions.ts'
import { readParams, readReply, writeParams, writeReply } from '../../transport/crossing.ts'

/** Facts of a conversation that rules need, at the process that goes on with a request of it. */
export type SessionFacts = Omit<SessionInit, 'id' | 'notify' | 'ask'>

/** Facts of a request that come with it. */
type RequestFacts = Pick<Inbound, 'method' | 'params' | 'headers' | 'via' | 'remoteAddress' | 'bytes'>

/** One request that another process is asked to run, by an id that nobody else gives. */
export interface Work {
  readonly id: string
  readonly session: SessionFacts
  readonly request: RequestFacts
  /** True if its client can be asked something before the answer. */
  readonly canAsk: boolean
}

/** Reply of a client to what it was asked for a work. */
export interface WorkReply {
  readonly of: string
  readonly ask: number
  readonly reply: AskReply
}

/** Says what another process needs to run a request. Its caller is vouched for: nobody asks it again. */
export function writeWork(id: string, session: Session, inbound: Inbound): Buffer {
  const { listener, client, label, profile, directory, choices } = session
  const { method, params, received, headers, via, remoteAddress, bytes } = inbound
  const principal = inbound.principal ?? session.principal
  const facts = { listener, principal, client, label, profile, directory, choices }
  const request = { method, headers, via, remoteAddress, bytes, ...writeParams(params, received) }
  const canAsk = inbound.ask !== undefined
  return Buffer.from(JSON.stringify({ id, session: facts, request, canAsk, token: tokenOf(principal) }))
}

export function writeWorkReply({ of, ask, reply }: WorkReply): Buffer {
  return Buffer.from(JSON.stringify({ of, ask, reply: writeReply(reply) }))
}

/** Reads what a process of this gateway wrote; another version of it may have written something else. */
export function readWork(body: Buffer): Work | WorkReply | undefined {
  const said = JSON.parse(body.toString()) as JsonObject
  if (typeof said.of === 'string' && isObject(said.reply))
    return { of: said.of, ask: Number(said.ask), reply: readReply(said.reply) }
  const { id, session, request, canAsk, token } = said
  if (typeof id !== 'string' || !isObject(session) || !isObject(request)) return undefined
  const { params: _params, written: _written, ...facts } = request
  return {
    id,
    session: sessionIn(session, token),
    request: { ...(facts as unknown as RequestFacts), params: readParams(request) },
    canAsk: canAsk === true,
  }
}

function sessionIn(written: JsonObject, token: unknown): SessionFacts {
  const facts = written as unknown as SessionFacts
  const principal = callerIn(facts.principal)
  if (typeof token === 'string') keepToken(principal, token)
  return { ...facts, principal, choices: choicesIn(facts.choices) }
}

/** Whoever is nobody here is nobody there, too: some look at the object. */
function callerIn(principal: Principal): Principal {
  const isNobody =
    principalKey(principal) === principalKey(ANONYMOUS) &&
    principal.delegate === undefined &&
    principal.scopes.length === 0
  return isNobody ? ANONYMOUS : principal
}

/** Without a prototype, as the names are the client's. */
function choicesIn(choices: Choices | undefined): Choices | undefined {
  return choices === undefined ? undefined : Object.assign(Object.create(null) as Choices, choices)
}

const SORTS = ['result', 'input', 'task'] as const

/** One line of what a process says while it runs a request of another. */
export type Line =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'notification'; readonly notification: Notification }
  | {
      readonly kind: 'ask'
      readonly ask: number
      readonly method: string
      readonly params: JsonObject | undefined
    }
  | { readonly kind: 'taken back'; readonly ask: number; readonly why: string }

/** Keeps the connection from being taken for a dead one. */
export const BLANK_LINE = '\n'

export function notificationLine({ method, params }: Notification): string {
  return `${JSON.stringify({ notification: method, ...writeParams(params) })}\n`
}

export function askLine(ask: number, method: string, params: JsonObject | undefined): string {
  return `${JSON.stringify({ ask, method, ...writeParams(params) })}\n`
}

export function takenBackLine(takenBack: number, why: string): string {
  return `${JSON.stringify({ takenBack, why })}\n`
}

/** The last line. A result goes as the bytes that it is. */
export function answerLine(answer: Answer): Buffer {
  if ('error' in answer) {
    const { error, http, refusedBy } = answer
    return Buffer.from(`${JSON.stringify({ error, http, refusedBy })}\n`)
  }
  const sort = 'result' in answer ? 'result' : 'input' in answer ? 'input' : 'task'
  const payload = (answer as Readonly<Record<typeof sort, Payload>>)[sort]
  const head = `{"era":${JSON.stringify(payload.era ?? '')},"${sort}":`
  return Buffer.concat([Buffer.from(head), oneLine(payload.bytes()), Buffer.from('}\n')])
}

/** Reads one line; undefined for what another version of the gateway may say. */
export function readLine(line: Buffer): Line | undefined {
  if (line.toString('latin1', 0, 7) === '{"era":') return payloadIn(line)
  const said = JSON.parse(line.toString()) as JsonObject
  const { notification, ask, method, takenBack, error } = said
  if (typeof notification === 'string')
    return { kind: 'notification', notification: { method: notification, params: readParams(said) } }
  if (typeof ask === 'number' && typeof method === 'string')
    return { kind: 'ask', ask, method, params: readParams(said) }
  if (typeof takenBack === 'number') return { kind: 'taken back', ask: takenBack, why: String(said.why) }
  return isObject(error) ? { kind: 'answer', answer: refusalIn(said) } : undefined
}

function payloadIn(line: Buffer): Line | undefined {
  const era = findValue(line, 'era')?.toString()
  for (const sort of SORTS) {
    const bytes = findValue(line, sort)
    if (bytes === undefined) continue
    const payload = Payload.raw(bytes, era === '""' ? undefined : (JSON.parse(era ?? '""') as Era))
    return { kind: 'answer', answer: { [sort]: payload } as unknown as Answer }
  }
  return undefined
}

function refusalIn(said: JsonObject): Answer {
  const { error, http, refusedBy } = said as unknown as Extract<Answer, { error: RpcError }>
  return { error, ...(http === undefined ? {} : { http }), ...(refusedBy === undefined ? {} : { refusedBy }) }
}
