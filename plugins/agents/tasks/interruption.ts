import type { Caller } from '../types/tasks.ts'
import type { Beginning } from './attempt.ts'
import { questionId } from './questions.ts'
import type { LiveTask, TaskContext } from './context.ts'
import { ACTIVE, type TaskRecord } from '../store/record.ts'

/** What an agent is told whose turn was cut off, when its owner says nothing else. */
const GO_ON = 'You were interrupted. Look at what you have done so far, and go on with the task from there.'
const SCHEMA = {
  type: 'object',
  properties: {
    message: { type: 'string', title: 'Message', description: 'What the agent is told; may be left out.' },
  },
}

/** Puts a task that was cut off into the hands of its owner. False when it has ended meanwhile. */
export function askToContinue(
  context: TaskContext,
  { record, journal }: Pick<LiveTask, 'record' | 'journal'>,
  why: string,
): boolean {
  context.output.withdraw(record.id)
  // Before the state says so: whoever sees that it waits finds what for.
  const id = questionId(journal.data.seq + 1)
  context.output.ask(record.id, {
    id,
    kind: 'continue',
    message: `${why}. Shall the task go on?`,
    schema: SCHEMA,
  })
  if (journal.move(ACTIVE, 'interrupted', { why })) return true
  context.output.withdraw(record.id)
  return false
}

/** How a task goes on that was cut off: in its session, and anew only when nothing can have happened. */
export function beginningAgain(
  { data, start, hadEffect, wasPrompted }: TaskRecord,
  message: string | undefined,
): Beginning {
  const prompt = start.prompt ?? (wasPrompted ? undefined : message)
  const whyNot = hadEffect
    ? 'its session is lost, and the agent may have changed something already: it is not done a second time'
    : 'its session is lost, and its prompt was not kept'
  const resume = data.sessionId
  return { resume, there: message ?? GO_ON, anew: hadEffect ? undefined : prompt, whyNot }
}

/** How a task begins. */
export function beginningOf({ start }: TaskRecord, prompt: string | undefined): Beginning {
  return { resume: start.resume, there: prompt, anew: prompt, whyNot: 'its prompt was not kept' }
}

/** The owner of a task, after a restart: nobody that an agent may call back as. */
export function absentCaller({ owner, start }: TaskRecord): Caller {
  return { owner, issuer: start.issuer ?? '', subject: start.subject, parent: undefined }
}
