import { isObject, type Ask, type ClientSide, type Exchange, type JsonObject } from '../../../src/plugin.ts'
import { hasEnded } from './said.ts'
import type { TaskService, Question, QuestionAnswer, TaskView } from '../types/tasks.ts'

/** Whether this client can be shown a form. */
export function canBeAsked({ canAsk, session }: Exchange): boolean {
  return canAsk && takesForms(session.client)
}

function takesForms({ capabilities, version }: ClientSide): boolean {
  const { elicitation } = capabilities
  if (!isObject(elicitation)) return false
  // Before there were other ways, to elicit was to show a form.
  return elicitation.form !== undefined || elicitation.url === undefined || version < '2025-11-25'
}

/** A question as servers ask it. */
export function askOf({ message, schema }: Question): Ask {
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: schema } }
}

/** The open questions of a task, as `inputRequests` has them. */
export function inputRequests({ questions }: TaskView): JsonObject {
  return Object.fromEntries(questions.map(question => [question.id, askOf(question)]))
}

/** What a client says to a form; undefined for what is no answer. */
export function answerIn(reply: unknown): QuestionAnswer | undefined {
  if (!isObject(reply)) return undefined
  const { action, content } = reply
  if (action === 'accept') return { action, content: isObject(content) ? content : {} }
  return action === 'decline' || action === 'cancel' ? { action } : undefined
}

/** Gives a task the answers that a client brings along. What is not asked, or was answered already, is passed over. */
export function giveAnswers(service: TaskService, view: TaskView, owner: string, responses: unknown): void {
  if (!isObject(responses)) return
  for (const { id } of view.questions) {
    const given = Object.hasOwn(responses, id) ? answerIn(responses[id]) : undefined
    if (given !== undefined) tryAnswer(service, view.id, owner, id, given)
  }
}

/** False when it is not open any more, or the answer does not fit. */
export function tryAnswer(
  service: TaskService,
  task: string,
  owner: string,
  question: string,
  given: QuestionAnswer,
): boolean {
  try {
    service.answer(task, owner, question, given)
    return true
  } catch {
    return false
  }
}

/** Asks a legacy client on the stream of its call; undefined when it gave no answer. */
export async function askThrough(
  exchange: Exchange,
  service: TaskService,
  { id: task }: TaskView,
  question: Question,
  owner: string,
): Promise<QuestionAnswer | undefined> {
  const takers = new Set<(reason: string) => void>()
  let isOpen = true
  const unwatch = service.watch(task, owner, view => {
    if (!isOpen || (!hasEnded(view) && view.questions.some(({ id }) => id === question.id))) return
    isOpen = false
    for (const taken of takers) taken('the question was answered, or is out of time')
  })
  const ask: Ask = {
    ...askOf(question),
    get isTakenBack() {
      return !isOpen
    },
    onTakeBack: listener => void takers.add(listener),
  }
  try {
    const reply = await exchange.ask(ask)
    return 'result' in reply ? answerIn(reply.result) : undefined
  } finally {
    isOpen = false
    unwatch()
  }
}
