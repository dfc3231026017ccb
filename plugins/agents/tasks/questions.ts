import type { JsonObject } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'
import type { CallerIdentity, TaskCaller, TaskQuestion, QuestionAnswer } from '../types.ts'
import type { LiveTask, TaskContext } from './context.ts'
import { formatLine } from '../store/task-journal.ts'
import type { TaskRecord } from '../store/task-store.ts'
import { ACTIVE } from '../store/task-store.ts'

/** Default prompt for resuming an interrupted turn. */
const GO_ON = 'You were interrupted. Check what you have done so far, and continue the task.'

const SCHEMA = {
  type: 'object',
  properties: {
    message: { type: 'string', title: 'Message', description: 'Optional message to the agent.' },
  },
}

/** Open questions per task. */
const MAX_OPEN = 16

/** Total questions per task, because all are stored. */
const MAX_ASKED = 200

const MAX_SCHEMA = 64 * 1024

/** Answer to an agent's question; `late` after a timeout, `ended` if the task ended. */
type QuestionOutcome = QuestionAnswer | 'late' | 'ended'

/** Asks the task's owner and waits for the answer. The message must be redacted and cleaned. */
export function askOwner(
  context: TaskContext,
  live: LiveTask,
  { kind, message, schema }: Omit<TaskQuestion, 'id'>,
  maxMs: number,
  unwanted?: AbortSignal,
): Promise<QuestionOutcome> {
  const { journal, openQuestions } = live
  if (++live.questionCount > MAX_ASKED) return refuseQuestion(live)
  // Aborted if the task is cancelled or the agent withdraws the question.
  const abortSignals = [live.controller.signal, ...(unwanted === undefined ? [] : [unwanted])]
  const hidden = context.environment.hide(JSON.stringify(schema))
  if (openQuestions.size >= MAX_OPEN || hidden.length > MAX_SCHEMA) return Promise.resolve('late')
  if (abortSignals.some(({ aborted }) => aborted)) return Promise.resolve('ended')
  journal.addEvent('permission', `asks: ${message}`)
  const id = formatQuestionId(journal.data.seq)
  journal.openQuestion({ id, kind, message, schema: JSON.parse(hidden) as JsonObject })
  const outcome = new Promise<QuestionOutcome>(resolve => {
    const answerOnce = (result: QuestionOutcome): void => {
      if (!openQuestions.delete(id)) return
      stopTimer()
      for (const signal of abortSignals) signal.removeEventListener('abort', onAbort)
      journal.closeQuestions(id)
      if (openQuestions.size === 0) journal.transition(['input_required'], 'running')
      resolve(result)
    }
    const onAbort = (): void => answerOnce('ended')
    const stopTimer = context.environment.clock.after(maxMs, () => answerOnce('late'))
    for (const signal of abortSignals) signal.addEventListener('abort', onAbort, { once: true })
    openQuestions.set(id, answerOnce)
  })
  if (!journal.transition(['running', 'input_required'], 'input_required', { why: message }))
    openQuestions.get(id)?.('ended')
  return outcome
}

function refuseQuestion({ questionCount, journal }: LiveTask): Promise<QuestionOutcome> {
  if (questionCount === MAX_ASKED + 1)
    journal.addWarning(`question limit of ${MAX_ASKED} exceeded; further questions are refused`)
  return Promise.resolve('late')
}

/** Unique per task, because it contains an event number; sorts as text. */
function formatQuestionId(seq: number): string {
  return `q${String(seq).padStart(6, '0')}`
}

/** Handles an agent's `elicitation/create`. */
export async function elicit(
  context: TaskContext,
  live: LiveTask,
  params: JsonObject,
  maxMs: number,
  unwanted?: AbortSignal,
): Promise<JsonObject> {
  const { mode, message, requestedSchema } = params
  // Decline URL elicitation: the link comes from a model.
  if ((mode !== undefined && mode !== 'form') || typeof message !== 'string') return { action: 'decline' }
  const schema = isObject(requestedSchema) ? requestedSchema : {}
  const question = { kind: 'elicitation', message: formatLine(context, message, 4000), schema } as const
  const outcome = await askOwner(context, live, question, maxMs, unwanted)
  if (typeof outcome === 'string') return { action: 'cancel' }
  return outcome.action === 'accept' ? { action: 'accept', content: outcome.content } : { action: outcome.action }
}

/** Asks the owner whether to resume a task. Returns false if it has ended. */
export function askToContinue({ journal }: Pick<LiveTask, 'journal'>, reason: string): boolean {
  journal.closeQuestions()
  const message = `${reason}. Resume the task?`
  journal.openQuestion({
    id: formatQuestionId(journal.data.seq + 1),
    kind: 'continue',
    message,
    schema: SCHEMA,
  })
  if (journal.transition(ACTIVE, 'interrupted', { why: reason })) return true
  journal.closeQuestions()
  return false
}

/** Plans how to resume: in the existing session, or in a new one only if nothing can have happened. */
export function resumeBeginning(
  { sessionId, start, hadEffect, wasPrompted }: TaskRecord,
  message: string | undefined,
): TurnBeginning {
  const prompt = start.prompt ?? (wasPrompted ? undefined : message)
  const noRestartReason = hadEffect
    ? 'the session is lost, and the agent may have changed something: not running it again'
    : 'the session is lost, and the prompt was not stored'
  return {
    resume: sessionId,
    resumePrompt: message ?? GO_ON,
    restartPrompt: hadEffect ? undefined : prompt,
    noRestartReason,
  }
}

/** Plans the first turn. */
export function createBeginning({ start }: TaskRecord, prompt: string | undefined): TurnBeginning {
  return {
    resume: start.resume,
    resumePrompt: prompt,
    restartPrompt: prompt,
    noRestartReason: 'the prompt was not stored',
  }
}

/** Builds the owner after a restart; without an identity, agents cannot call back. */
export function buildAbsentCaller({ owner, start }: TaskRecord, identity?: CallerIdentity): TaskCaller {
  return { owner, issuer: start.issuer, subject: start.subject, parent: undefined, identity }
}

/** How a turn begins. */
export interface TurnBeginning {
  /** Session to resume. */
  readonly resume: string | undefined
  /** Prompt for the resumed session; equals `anew` if it applies to both. */
  readonly resumePrompt: string | undefined
  /** Prompt for a new session; undefined if that is not allowed, because of `whyNot`. */
  readonly restartPrompt: string | undefined
  readonly noRestartReason: string
}
