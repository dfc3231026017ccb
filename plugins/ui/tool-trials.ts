import { randomUUID } from 'node:crypto'
import type { Answer, Ask, AskReply, ClientDescription, JsonObject } from '../../src/plugin.ts'
import { BoundedMap, isObject, getErrorMessage, TextStream } from '../../src/plugin.ts'
import type { PageUser } from './page-access.ts'
import type { HideSecrets, ApiRequest, ApiRoutes } from './api.ts'
import { ApiError, EventStreamReply, safeJson } from './api.ts'

/** Maximum running calls, in total and per caller. */
const MAX_RUNNING = 50
const MAX_RUNNING_PER_CALLER = 8
const MAX_ASKS = 100

/** The page as an MCP client that supports forms. */
const CLIENT: ClientDescription = {
  info: { name: 'tapgate page', version: '1' },
  capabilities: { elicitation: { form: {} } },
  version: '2025-11-25',
  era: 'legacy',
  logLevel: 'info',
}

const UNSUPPORTED_REPLY: AskReply = { error: { code: -32601, message: 'unsupported client request' } }

interface OpenQuestion {
  readonly share: string
  reply(reply: AskReply): void
}

/** Tool calls from the page, and client requests during them; survives a reload. */
export class ToolTrials {
  readonly #hide: HideSecrets
  /** Caller of each running call. */
  readonly #running = new Map<object, string>()
  readonly #openQuestions = new BoundedMap<string, OpenQuestion>({
    max: MAX_ASKS,
    onForget: (_, ask) => ask.reply(UNSUPPORTED_REPLY),
  })

  constructor(hide: HideSecrets) {
    this.#hide = hide
  }

  createRoutes(): ApiRoutes {
    return {
      'POST run': {
        changesState: true,
        body: { name: 'string', arguments: 'object?' },
        run: question => this.#startTrial(question),
      },
      'POST answer': {
        changesState: true,
        body: { id: 'string', action: ['accept', 'decline', 'cancel'], content: 'object?' },
        run: ({ user, body }) => ({ taken: this.#answerQuestion(user, body) }),
      },
    }
  }

  #startTrial(question: ApiRequest): EventStreamReply {
    const { share } = question.user
    const own = [...this.#running.values()].filter(one => one === share)
    if (this.#running.size >= MAX_RUNNING || own.length >= MAX_RUNNING_PER_CALLER)
      throw new ApiError(429, 'too many running calls')
    const stream = new TextStream()
    this.#running.set(stream, share)
    const event = (name: string, value: JsonObject): string =>
      `data: ${safeJson({ event: name, ...value }, this.#hide)}\n\n`
    const emit = (name: string, value: JsonObject): void => {
      if (stream.hasCapacity) stream.append(event(name, value))
    }
    void this.#runTrial(question, emit)
      .catch((error: unknown): Answer => ({ error: { code: 0, message: getErrorMessage(error) } }))
      .then(answer => stream.end(event('error' in answer ? 'error' : 'result', toResultValue(answer))))
      .finally(() => this.#running.delete(stream))
    return new EventStreamReply(stream)
  }

  async #runTrial({ http, user, body }: ApiRequest, emit: (event: string, value: JsonObject) => void): Promise<Answer> {
    const { gate, listener, profile } = http
    const { principal, share } = user
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
        ask: ask => this.#askPage(ask, share, emit),
      })
      http.onDisconnect(() => running.cancel('the page was closed'))
      return await running.answer
    } finally {
      gate.closeSession(session, 'answered')
    }
  }

  #askPage(ask: Ask, share: string, emit: (event: string, value: JsonObject) => void): Promise<AskReply> {
    if (ask.method !== 'elicitation/create') return Promise.resolve(UNSUPPORTED_REPLY)
    return new Promise(resolve => {
      const id = randomUUID()
      this.#openQuestions.set(id, { share, reply: resolve })
      ask.onCancel?.(() => this.#openQuestions.delete(id))
      emit('ask', { id, ...ask.params })
    })
  }

  #answerQuestion({ share }: PageUser, { id, action, content }: JsonObject): boolean {
    const ask = this.#openQuestions.get(String(id))
    if (ask?.share !== share) return false
    this.#openQuestions.delete(String(id))
    ask.reply({ result: { action, ...(isObject(content) ? { content } : {}) } })
    return true
  }
}

function toResultValue(answer: Answer): JsonObject {
  if ('error' in answer) return { ...answer.error }
  return ('result' in answer ? answer.result : 'input' in answer ? answer.input : answer.task).value()
}
