import { randomUUID } from 'node:crypto'
import {
  type Answer,
  type AskReply,
  BoundedMap,
  type ClientSide,
  type Gate,
  isObject,
  type JsonObject,
  reasonOf,
  type Session,
  TextStream,
} from '../../../src/plugin.ts'
import type { Reader } from '../access/admission.ts'
import type { PageRequest } from '../access/page-request.ts'
import { type Hide, safeJson } from '../safe-json.ts'
import { ApiError, EVENTS, Reply, type Route } from './route.ts'

/** Calls that are tried at a time, over all pages and by one caller. */
const MAX_RUNNING = 50
const MAX_OF_CALLER = 8
const MAX_ASKS = 100

/** Client as whom the page calls: it shows forms to whoever sits before it. */
const CLIENT: ClientSide = {
  info: { name: 'tapgate page', version: '1' },
  capabilities: { elicitation: { form: {} } },
  version: '2025-11-25',
  era: 'legacy',
  logLevel: 'info',
}

interface OpenAsk {
  readonly share: string
  reply(reply: AskReply): void
}

/** Calls that somebody tries on the page, and the questions of servers that came with them. */
export class Trials {
  readonly #own = randomUUID()
  readonly #hide: Hide
  readonly #running = new Map<object, string>()
  readonly #asks = new BoundedMap<string, OpenAsk>({
    max: MAX_ASKS,
    onForget: (_, ask) => ask.reply(REFUSED),
  })
  #count = 0

  constructor(hide: Hide) {
    this.#hide = hide
  }

  routes(): Route[] {
    return [
      {
        method: 'POST',
        name: 'run',
        summary: 'Calls a tool as any client would, and tells what happens.',
        acts: true,
        body: { name: { type: 'string' }, arguments: { type: 'object' } },
        required: ['name'],
        answer: 'Events: `progress`, `log` and `ask`, then `result` or `error`',
        run: ({ http, reader, body }) => this.#begin(http, reader, body),
      },
      {
        method: 'POST',
        name: 'answer',
        summary: 'Answers what a server asked in a call that is tried.',
        acts: true,
        body: {
          id: { type: 'string' },
          action: { type: 'string', enum: ['accept', 'decline', 'cancel'] },
          content: { type: 'object' },
        },
        required: ['id', 'action'],
        answer: '`taken` is false where nobody waits any more',
        run: ({ reader, body }) => ({ taken: this.#answer(reader, body) }),
      },
    ]
  }

  #begin(http: PageRequest, reader: Reader, body: JsonObject): Reply {
    const { gate } = http
    if (gate === undefined) throw new ApiError(404, 'no tool can be tried here')
    const own = [...this.#running.values()].filter(share => share === reader.share)
    if (this.#running.size >= MAX_RUNNING || own.length >= MAX_OF_CALLER)
      throw new ApiError(429, 'too many calls are being tried')
    const events = new TrialEvents(this.#hide)
    this.#running.set(events, reader.share)
    void this.#run({ ...http, gate }, reader, body, events)
      .catch((error: unknown) => events.end('error', { message: reasonOf(error) }))
      .finally(() => this.#running.delete(events))
    return new Reply({ status: 200, headers: EVENTS, body: events.body })
  }

  async #run(
    http: PageRequest & { readonly gate: Gate },
    reader: Reader,
    body: JsonObject,
    events: TrialEvents,
  ): Promise<void> {
    const { gate, listener, profile } = http
    const { principal } = reader
    const id = `ui-${this.#own}-${++this.#count}`
    const init = { id, listener, principal, profile, client: CLIENT, notify: () => false }
    const session = await gate.openSession(init)
    try {
      const answer = await this.#call(http, session, { body, events, share: reader.share })
      const told = toldOf(answer)
      events.end(told.event, told.value)
    } finally {
      gate.closeSession(session, 'answered')
    }
  }

  #call(
    { gate, onGone }: Pick<PageRequest, 'onGone'> & { readonly gate: Gate },
    session: Session,
    { body, events, share }: { body: JsonObject; events: TrialEvents; share: string },
  ): Promise<Answer> {
    const params = { name: body.name, arguments: body.arguments ?? {}, _meta: { progressToken: 1 } }
    const running = gate.run(session, {
      method: 'tools/call',
      params,
      received: body,
      emit: ({ method, params: said = {} }) => {
        if (method === 'notifications/progress') events.add('progress', said)
        if (method === 'notifications/message') events.add('log', said)
      },
      ask: ask => {
        if (ask.method !== 'elicitation/create') return Promise.resolve(REFUSED)
        return new Promise<AskReply>(resolve => {
          const asked = randomUUID()
          this.#asks.set(asked, { share, reply: resolve })
          ask.onTakeBack?.(() => this.#asks.delete(asked))
          events.add('ask', { id: asked, ...ask.params })
        })
      },
    })
    onGone(() => running.cancel('the page was closed'))
    return running.answer
  }

  #answer({ share }: Reader, { id, action, content }: JsonObject): boolean {
    const ask = this.#asks.get(String(id))
    if (ask?.share !== share) return false
    this.#asks.delete(String(id))
    ask.reply({ result: { action, ...(isObject(content) ? { content } : {}) } })
    return true
  }
}

const REFUSED: AskReply = { error: { code: -32601, message: 'the page cannot answer that' } }

function toldOf(answer: Answer): { readonly event: 'result' | 'error'; readonly value: JsonObject } {
  if ('error' in answer) return { event: 'error', value: { ...answer.error } }
  if ('result' in answer) return { event: 'result', value: answer.result.value() }
  return { event: 'result', value: ('input' in answer ? answer.input : answer.task).value() }
}

/** Events of a call that is tried: what is said on the way, then its end. */
class TrialEvents {
  readonly body = new TextStream()
  readonly #hide: Hide

  constructor(hide: Hide) {
    this.#hide = hide
  }

  add(event: string, value: JsonObject): void {
    if (this.body.hasRoom) this.body.add(this.#text(event, value))
  }

  end(event: string, value: JsonObject): void {
    this.body.end(this.#text(event, value))
  }

  #text(event: string, value: JsonObject): string {
    return `data: ${safeJson({ event, ...value }, this.#hide)}\n\n`
  }
}
