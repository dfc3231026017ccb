import type { JsonObject } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'
import type { TaskCaller, TaskQuestion, QuestionAnswer } from '../types.ts'
import type { LiveTask, TaskContext } from './context.ts'
import { formatLine } from '../store/task-journal.ts'
import type { TaskRecord } from '../store/task-store.ts'
import { ACTIVE } from '../store/task-store.ts'

/** Prompt for an agent whose turn was cut off, when its owner has no other. */
const GO_ON = 'You were interrupted. Look at what you have done so far, and go on with the task from there.'

const SCHEMA = {
  type: 'object',
  properties: {
    message: { type: 'string', title: 'Message', description: 'What the agent is told; may be left out.' },
  },
}

/** Questions of one task that may be open at a time. */
const MAX_OPEN = 16

/** And all together: each is kept, and whoever asks for ever would fill the disk. */
const MAX_ASKED = 200

const MAX_SCHEMA = 64 * 1024

/** Answer to a question of an agent; `late` when nobody answered, `ended` when the task has. */
type QuestionOutcome = QuestionAnswer | 'late' | 'ended'

/** Asks the owner of a task, and waits for the answer. The message is shown as it is: without secrets and control characters. */
export function askOwner(
  context: TaskContext,
  live: LiveTask,
  { kind, message, schema }: Omit<TaskQuestion, 'id'>,
  maxMs: number,
  unwanted?: AbortSignal,
): Promise<QuestionOutcome> {
  const { journal, asks } = live
  if (++live.asked > MAX_ASKED) return refuseQuestion(live)
  // Signals that nobody waits any more: the task was cancelled, or the agent took its question back.
  const gone = [live.controller.signal, ...(unwanted === undefined ? [] : [unwanted])]
  const hidden = context.environment.hide(JSON.stringify(schema))
  if (asks.size >= MAX_OPEN || hidden.length > MAX_SCHEMA) return Promise.resolve('late')
  if (gone.some(({ aborted }) => aborted)) return Promise.resolve('ended')
  journal.addEvent('permission', `asks: ${message}`)
  const id = formatQuestionId(journal.data.seq)
  journal.openQuestion({ id, kind, message, schema: JSON.parse(hidden) as JsonObject })
  const outcome = new Promise<QuestionOutcome>(resolve => {
    const settle = (result: QuestionOutcome): void => {
      if (!asks.delete(id)) return
      stopTimer()
      for (const signal of gone) signal.removeEventListener('abort', onAbort)
      journal.closeQuestions(id)
      if (asks.size === 0) journal.transition(['input_required'], 'running')
      resolve(result)
    }
    const onAbort = (): void => settle('ended')
    const stopTimer = context.environment.clock.after(maxMs, () => settle('late'))
    for (const signal of gone) signal.addEventListener('abort', onAbort, { once: true })
    asks.set(id, settle)
  })
  if (!journal.transition(['running', 'input_required'], 'input_required', { why: message }))
    asks.get(id)?.('ended')
  return outcome
}

function refuseQuestion({ asked, journal }: LiveTask): Promise<QuestionOutcome> {
  if (asked === MAX_ASKED + 1)
    journal.addWarning(`it asked more than ${MAX_ASKED} questions: the others went unasked`)
  return Promise.resolve('late')
}

/** Never the same twice in one task: its number is that of an event. In order as text, too. */
function formatQuestionId(seq: number): string {
  return `q${String(seq).padStart(6, '0')}`
}

/** Result of an `elicitation/create` of the agent. */
export async function elicit(
  context: TaskContext,
  live: LiveTask,
  params: JsonObject,
  maxMs: number,
  unwanted?: AbortSignal,
): Promise<JsonObject> {
  const { mode, message, requestedSchema } = params
  // A link that an agent wants opened is nobody's business here: its words are a model's.
  if ((mode !== undefined && mode !== 'form') || typeof message !== 'string') return { action: 'decline' }
  const schema = isObject(requestedSchema) ? requestedSchema : {}
  const question = { kind: 'elicitation', message: formatLine(context, message, 4000), schema } as const
  const outcome = await askOwner(context, live, question, maxMs, unwanted)
  if (typeof outcome === 'string') return { action: 'cancel' }
  return outcome.action === 'accept'
    ? { action: 'accept', content: outcome.content }
    : { action: outcome.action }
}

/** Puts a task that was cut off into the hands of its owner. False when it has ended meanwhile. */
export function askToContinue({ journal }: Pick<LiveTask, 'journal'>, why: string): boolean {
  journal.closeQuestions()
  const message = `${why}. Shall the task go on?`
  journal.openQuestion({
    id: formatQuestionId(journal.data.seq + 1),
    kind: 'continue',
    message,
    schema: SCHEMA,
  })
  if (journal.transition(ACTIVE, 'interrupted', { why })) return true
  journal.closeQuestions()
  return false
}

/** Beginning of a task that was cut off: in its session, and anew only when nothing can have happened. */
export function resumeBeginning(
  { data, start, hadEffect, wasPrompted }: TaskRecord,
  message: string | undefined,
): TurnBeginning {
  const prompt = start.prompt ?? (wasPrompted ? undefined : message)
  const whyNot = hadEffect
    ? 'its session is lost, and the agent may have changed something already: it is not done a second time'
    : 'its session is lost, and its prompt was not kept'
  const resume = data.sessionId
  return { resume, there: message ?? GO_ON, anew: hadEffect ? undefined : prompt, whyNot }
}

/** Beginning of a new task. */
export function createBeginning({ start }: TaskRecord, prompt: string | undefined): TurnBeginning {
  return { resume: start.resume, there: prompt, anew: prompt, whyNot: 'its prompt was not kept' }
}

/** The owner of a task, after a restart: nobody that an agent may call back as. */
export function buildAbsentCaller({ owner, start }: TaskRecord): TaskCaller {
  return { owner, issuer: start.issuer ?? '', subject: start.subject, parent: undefined }
}

/** Beginning of a turn. */
export interface TurnBeginning {
  /** A session of this agent to go on in. */
  readonly resume: string | undefined
  /** Prompt in the session that is there; the same as `anew` where it is said in any case. */
  readonly there: string | undefined
  /** Prompt in a new session; undefined where that must not be, for the reason `whyNot`. */
  readonly anew: string | undefined
  readonly whyNot: string
}
