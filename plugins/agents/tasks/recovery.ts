import { reasonOf } from '../../../src/plugin.ts'
import { absentCaller, askToContinue, beginningOf } from './interruption.ts'
import { liveOf } from './running-task.ts'
import type { TaskContext } from './context.ts'
import { run } from './runner.ts'
import type { TaskRecord } from '../store/record.ts'

/** Tasks that one look takes over. */
const MAX_AT_ONCE = 1000

/** Takes over what gateways that are gone have left: what no agent has begun is queued again, the rest is for its owner to say. */
export function recover(context: TaskContext): void {
  const alive = context.runners.alive()
  for (const record of context.tasks.abandoned(alive, MAX_AT_ONCE)) {
    try {
      if (context.tasks.takeOver(record, context.runners.id)) takeUp(context, record)
    } catch (error) {
      context.environment.log.warn('a task could not be taken over', {
        task: record.id,
        why: reasonOf(error),
      })
    }
  }
}

function takeUp(context: TaskContext, record: TaskRecord): void {
  const { start, wasPrompted } = record
  const live = liveOf(context, record, start.prompt, absentCaller(record))
  // Whoever waited in the foreground has gone with the gateway.
  if (wasPrompted || !start.request.background || start.prompt === undefined) {
    askToContinue(context, live, 'the gateway ended while it was at work')
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
