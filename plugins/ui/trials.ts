import { randomUUID } from 'node:crypto'
import type { Answer, Ask, AskReply, ClientDescription, JsonObject } from '../../src/plugin.ts'
import { BoundedMap, isObject, getErrorMessage, TextStream } from '../../src/plugin.ts'
import type { Reader } from './admission.ts'
import type { Hide, Question, Routes } from './api.ts'
import { ApiError, EventReply, safeJson } from './api.ts'

/** Calls that run at a time, over all pages and of one caller. */
const MAX_RUNNING = 50
const MAX_OF_CALLER = 8
const MAX_ASKS = 100

/** The page as a client: it shows forms. */
const CLIENT: ClientDescription = {
  info: { name: 'tapgate page', version: '1' },
  capabilities: { elicitation: { form: {} } },
  version: '2025-11-25',
  era: 'legacy',
  logLevel: 'info',
}

const REFUSED: AskReply = { error: { code: -32601, message: 'the page cannot answer that' } }

interface OpenAsk {
  readonly share: string
  reply(reply: AskReply): void
}

/** Calls of tools from the page, and the questions that servers ask during them. It outlives a reload. */
export class Trials {
  readonly #hide: Hide
  /** The caller of each running call. */
  readonly #running = new Map<object, string>()
  readonly #asks = new BoundedMap<string, OpenAsk>({
    max: MAX_ASKS,
    onForget: (_, ask) => ask.reply(REFUSED),
  })

  constructor(hide: Hide) {
    this.#hide = hide
  }

  routes(): Routes {
    return {
      'POST run': {
        acts: true,
        body: { name: 'string', arguments: 'object?' },
        run: question => this.#begin(question),
      },
      'POST answer': {
        acts: true,
        body: { id: 'string', action: ['accept', 'decline', 'cancel'], content: 'object?' },
        run: ({ reader, body }) => ({ taken: this.#answer(reader, body) }),
      },
    }
  }

  #begin(question: Question): EventReply {
    const { share } = question.reader
    const own = [...this.#running.values()].filter(one => one === share)
    if (this.#running.size >= MAX_RUNNING || own.length >= MAX_OF_CALLER)
      throw new ApiError(429, 'too many calls are being tried')
    const stream = new TextStream()
    this.#running.set(stream, share)
    const event = (name: string, value: JsonObject): string =>
      `data: ${safeJson({ event: name, ...value }, this.#hide)}\n\n`
    const emit = (name: string, value: JsonObject): void => {
      if (stream.hasCapacity) stream.append(event(name, value))
    }
    void this.#run(question, emit)
      .catch((error: unknown): Answer => ({ error: { code: 0, message: getErrorMessage(error) } }))
      .then(answer => stream.end(event('error' in answer ? 'error' : 'result', valueOf(answer))))
      .finally(() => this.#running.delete(stream))
    return new EventReply(stream)
  }

  async #run(
    { http, reader, body }: Question,
    emit: (event: string, value: JsonObject) => void,
  ): Promise<Answer> {
    const { gate, listener, profile } = http
    const { principal, share } = reader
    const id = `ui-${randomUUID()}`
    const init = { id, listener, principal, profile, client: CLIENT, notify: () => false }
    const session = await gate.openSession(init)
    try {
      const running = gate.run(session, {
        method: 'tools/call',
        params: { name: body.name, arguments: body.arguments ?? {}, _meta: { progressToken: 1 } },
        received: body,
        emit({ method, params = {} }) {
          if (method === 'notifications/progress') emit('progress', params)
          if (method === 'notifications/message') emit('log', params)
        },
        ask: ask => this.#ask(ask, share, emit),
      })
      http.onDisconnect(() => running.cancel('the page was closed'))
      return await running.answer
    } finally {
      gate.closeSession(session, 'answered')
    }
  }

  #ask(ask: Ask, share: string, emit: (event: string, value: JsonObject) => void): Promise<AskReply> {
    if (ask.method !== 'elicitation/create') return Promise.resolve(REFUSED)
    return new Promise(resolve => {
      const id = randomUUID()
      this.#asks.set(id, { share, reply: resolve })
      ask.onCancel?.(() => this.#asks.delete(id))
      emit('ask', { id, ...ask.params })
    })
  }

  #answer({ share }: Reader, { id, action, content }: JsonObject): boolean {
    const ask = this.#asks.get(String(id))
    if (ask?.share !== share) return false
    this.#asks.delete(String(id))
    ask.reply({ result: { action, ...(isObject(content) ? { content } : {}) } })
    return true
  }
}

function valueOf(answer: Answer): JsonObject {
  if ('error' in answer) return { ...answer.error }
  return ('result' in answer ? answer.result : 'input' in answer ? answer.input : answer.task).value()
}
