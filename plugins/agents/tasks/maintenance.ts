import type { JsonObject } from '../../../src/plugin.ts'
import { isObject, getErrorMessage } from '../../../src/plugin.ts'
import { agentError } from '../errors.ts'
import { formatLine } from '../store/task-journal.ts'
import type { TaskRecord } from '../store/task-store.ts'
import type { CallerIdentity, QuestionAnswer, TaskQuestion } from '../types.ts'
import type { TaskContext } from './context.ts'
import { LiveTask } from './context.ts'
import { buildAbsentCaller, askToContinue, resumeBeginning, createBeginning } from './questions.ts'
import { runTask } from './runner.ts'

const MAX_ANSWER = 64 * 1024

interface QuestionReply {
  readonly id: string
  readonly answer: QuestionAnswer
  /** Identity for callbacks of a resumed task. */
  readonly identity: CallerIdentity | undefined
}

/** Answers an open question. @throws GatewayError GW_AGENT_QUESTION */
export function answerQuestion(
  context: TaskContext,
  record: TaskRecord,
  { id, answer, identity }: QuestionReply,
): void {
  const createError = (why: string): Error =>
    agentError('GW_AGENT_QUESTION', { question: formatLine(context, id, 64), task: record.id, why })
  const question = record.questions.find(each => each.id === id)
  if (question === undefined) throw createError('the question is unknown or already answered')
  const flaw = findFlaw(answer, question)
  if (flaw !== undefined) throw createError(flaw)
  if (question.kind === 'continue' && record.state !== 'interrupted')
    throw createError('the task is no longer interrupted')
  if (question.kind === 'continue') continueInterrupted(context, record, answer, identity)
  else context.live.get(record.id)?.openQuestions.get(id)?.(answer)
  context.watchers.emit(record.id)
}

/** Returns the reason why an answer is invalid, or undefined. */
function findFlaw(answer: QuestionAnswer, { kind, schema }: TaskQuestion): string | undefined {
  if (answer.action !== 'accept') return undefined
  const { content } = answer
  if (!isObject(content)) return 'content must be an object'
  if (JSON.stringify(content).length > MAX_ANSWER) return 'content is too long'
  if (kind === 'continue' && content.message !== undefined && typeof content.message !== 'string')
    return 'message must be a string'
  const required = Array.isArray(schema.required) ? schema.required.map(String) : []
  const missing = required.filter(name => !Object.hasOwn(content, name))
  if (missing.length > 0) return `missing ${missing.join(', ')}`
  return findWrongChoice(content, schema)
}

function findWrongChoice(content: JsonObject, { properties }: JsonObject): string | undefined {
  if (!isObject(properties)) return undefined
  for (const [name, property] of Object.entries(properties)) {
    const choices = isObject(property) && Array.isArray(property.enum) ? property.enum : undefined
    const value = Object.hasOwn(content, name) ? content[name] : undefined
    if (choices !== undefined && value !== undefined && !choices.includes(value))
      return `${name} must be one of ${choices.join(', ')}`
  }
  return undefined
}

/** Resumes or cancels an interrupted task. */
function continueInterrupted(
  context: TaskContext,
  record: TaskRecord,
  answer: QuestionAnswer,
  identity: CallerIdentity | undefined,
): void {
  const live = new LiveTask(context, record, buildAbsentCaller(record, identity))
  const { journal } = live
  journal.closeQuestions()
  if (answer.action !== 'accept') {
    journal.transition(['interrupted'], 'cancelled', { why: 'the owner declined to resume it' })
    return
  }
  const message = typeof answer.content.message === 'string' ? answer.content.message : undefined
  if (!journal.transition(['interrupted'], 'queued', { why: 'the owner resumed it' })) return
  const agents = record.wasPrompted && record.agent !== undefined ? [record.agent] : record.start.decision.chosen
  const beginning = resumeBeginning(record, message)
  void runTask(context, live, { agents, beginning, wasAdmitted: true })
}

const TIDY_MS = 30_000

/** Deletes expired tasks periodically; returns a function to stop. */
export function startSweeping(context: TaskContext): () => void {
  const { clock, log } = context.environment
  let stopTimer = (): void => undefined
  const sweep = (): void => {
    stopTimer = clock.after(TIDY_MS, () => {
      try {
        context.tasks.sweep(context.parts.tasks.ttlMs)
        if (context.tasks.dropped > 0) void pruneWorkspaces(context)
        context.tasks.dropped = 0
      } catch (error) {
        log.warn('cannot clean up tasks', { why: getErrorMessage(error) })
      }
      sweep()
    })
  }
  sweep()
  return () => stopTimer()
}

/** Removes workspaces without a stored task. Never rejects. */
export async function pruneWorkspaces(context: TaskContext): Promise<void> {
  const { log } = context.environment
  let workspaces: ReadonlySet<string> | undefined
  // Query after listing the worktrees, so that new tasks are not affected.
  const isKept = (name: string): boolean => (workspaces ??= context.tasks.listWorkspaces()).has(name)
  try {
    const pruned = await context.parts.containment.prune(isKept)
    if (pruned.length > 0) log.info('removed worktrees of deleted tasks', { tasks: pruned.length })
  } catch (error) {
    if (context.database.isOpen) log.warn('cannot prune worktrees', { why: getErrorMessage(error) })
  }
}

/** Recovers tasks from a previous run: requeues those that no agent started, and asks the owner about the others. */
export function recoverTasks(context: TaskContext): void {
  for (const record of context.tasks.listUnfinished()) {
    try {
      recoverTask(context, record)
    } catch (error) {
      const why = getErrorMessage(error)
      context.environment.log.warn('cannot recover task', { task: record.id, why })
    }
  }
}

function recoverTask(context: TaskContext, record: TaskRecord): void {
  const { start, wasPrompted } = record
  const live = new LiveTask(context, record, buildAbsentCaller(record))
  // Foreground callers are gone after a restart.
  if (wasPrompted || !start.request.background || start.prompt === undefined) {
    askToContinue(live, 'the gateway stopped while it was running')
    return
  }
  if (!live.journal.transition(['queued', 'starting'], 'queued', { why: 'the gateway restarted' })) return
  const course = {
    agents: start.decision.chosen,
    beginning: createBeginning(record, start.prompt),
    wasAdmitted: true,
  }
  void runTask(context, live, course)
}
