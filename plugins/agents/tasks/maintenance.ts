import type { JsonObject } from '../../../src/plugin.ts'
import { isObject, getErrorMessage } from '../../../src/plugin.ts'
import { agentError } from '../errors.ts'
import { lineOf } from '../store/journal.ts'
import type { TaskRecord } from '../store/task-store.ts'
import type { Question, QuestionAnswer } from '../types.ts'
import type { TaskContext } from './context.ts'
import { liveOf } from './context.ts'
import { recordOf } from './create-task.ts'
import { absentCaller, askToContinue, beginningAgain, beginningOf } from './questions.ts'
import { run } from './runner.ts'

const MAX_ANSWER = 64 * 1024

/** Answers a question of a task, once. @throws GatewayError GW_AGENT_QUESTION */
export function answer(context: TaskContext, record: TaskRecord, id: string, given: QuestionAnswer): void {
  const wrong = (why: string): Error =>
    agentError('GW_AGENT_QUESTION', { question: lineOf(context, id, 64), task: record.id, why })
  const question = record.data.questions.find(each => each.id === id)
  if (question === undefined) throw wrong('there is no such question, or it has been answered')
  const flaw = flawOf(given, question)
  if (flaw !== undefined) throw wrong(flaw)
  if (question.kind === 'continue' && record.state !== 'interrupted')
    throw wrong('the task is not interrupted any more')
  if (question.kind === 'continue') goOn(context, record, given)
  else context.live.get(record.id)?.asks.get(id)?.(given)
  context.watchers.tell(record.id)
}

/** Says what is wrong with an answer; undefined when it fits the question. */
function flawOf(given: QuestionAnswer, { kind, schema }: Question): string | undefined {
  if (given.action !== 'accept') return undefined
  const { content } = given
  if (!isObject(content)) return 'its content is no object'
  if (JSON.stringify(content).length > MAX_ANSWER) return 'its content is too long'
  if (kind === 'continue' && content.message !== undefined && typeof content.message !== 'string')
    return 'its message is no text'
  const required = Array.isArray(schema.required) ? schema.required.map(String) : []
  const missing = required.filter(name => !Object.hasOwn(content, name))
  if (missing.length > 0) return `it lacks ${missing.join(', ')}`
  return wrongChoice(content, schema)
}

function wrongChoice(content: JsonObject, { properties }: JsonObject): string | undefined {
  if (!isObject(properties)) return undefined
  for (const [name, property] of Object.entries(properties)) {
    const choices = isObject(property) && Array.isArray(property.enum) ? property.enum : undefined
    const value = Object.hasOwn(content, name) ? content[name] : undefined
    if (choices !== undefined && value !== undefined && !choices.includes(value))
      return `${name} must be one of ${choices.join(', ')}`
  }
  return undefined
}

/** A task that was cut off goes on, or is given up. */
function goOn(context: TaskContext, record: TaskRecord, given: QuestionAnswer): void {
  const { id, owner } = record
  if (given.action !== 'accept') {
    const { journal } = liveOf(context, record, undefined, absentCaller(record))
    journal.withdraw()
    journal.move(['interrupted'], 'cancelled', { why: 'its owner did not let it go on' })
    return
  }
  const message = typeof given.content.message === 'string' ? given.content.message : undefined
  const live = liveOf(context, record, record.start.prompt, absentCaller(record))
  live.journal.withdraw()
  if (!live.journal.move(['interrupted'], 'queued', { why: 'its owner lets it go on' })) return
  const agents =
    record.wasPrompted && record.agent !== undefined ? [record.agent] : record.start.decision.chosen
  const beginning = beginningAgain(recordOf(context, id, owner), message)
  void run(context, live, { agents, beginning, wasAdmitted: true })
}

const TIDY_MS = 30_000

/** Drops what has been kept for its time, now and then; returns the way to stop. */
export function tidyUp(context: TaskContext): () => void {
  const { clock, log } = context.environment
  let stopTimer = (): void => undefined
  const again = (): void => {
    stopTimer = clock.after(TIDY_MS, () => {
      try {
        context.tasks.sweep(context.parts.tasks.ttlMs)
        if (context.tasks.dropped > 0) void prune(context)
        context.tasks.dropped = 0
      } catch (error) {
        log.warn('the tasks could not be looked after', { why: getErrorMessage(error) })
      }
      again()
    })
  }
  again()
  return () => stopTimer()
}

/** The worktrees of tasks that are kept no more go. Never rejects. */
export async function prune(context: TaskContext): Promise<void> {
  const { log } = context.environment
  let kept: ReadonlySet<string> | undefined
  // Looked up when the worktrees have been listed: what begins later is not among them.
  const isKept = (name: string): boolean => (kept ??= context.tasks.grounds()).has(name)
  try {
    const pruned = await context.parts.containment.prune(isKept)
    if (pruned.length > 0) log.info('worktrees of forgotten tasks are removed', { tasks: pruned.length })
  } catch (error) {
    if (context.database.isOpen)
      log.warn('worktrees could not be looked after', { why: getErrorMessage(error) })
  }
}

/** Takes over what a gateway that is gone has left: what no agent has begun is queued again, the rest is for its owner to say. */
export function recover(context: TaskContext): void {
  for (const record of context.tasks.unfinished()) {
    try {
      takeUp(context, record)
    } catch (error) {
      const why = getErrorMessage(error)
      context.environment.log.warn('a task could not be taken over', { task: record.id, why })
    }
  }
}

function takeUp(context: TaskContext, record: TaskRecord): void {
  const { start, wasPrompted } = record
  const live = liveOf(context, record, start.prompt, absentCaller(record))
  // Whoever waited in the foreground has gone with the gateway.
  if (wasPrompted || !start.request.background || start.prompt === undefined) {
    askToContinue(live, 'the gateway ended while it was at work')
    return
  }
  if (!live.journal.move(['queued', 'starting'], 'queued', { why: 'the gateway was started again' })) return
  const course = {
    agents: start.decision.chosen,
    beginning: beginningOf(record, start.prompt),
    wasAdmitted: true,
  }
  void run(context, live, course)
}
