import { reasonOf } from '../../../src/plugin.ts'
import { absentCaller, askToContinue, beginningOf } from './interruption.ts'
import { liveOf } from './running-task.ts'
import type { Office } from './context.ts'
import { run } from './runner.ts'
import type { TaskRecord } from '../store/record.ts'

/** Tasks that one look takes over. */
const MAX_AT_ONCE = 1000

/** Takes over what gateways that are gone have left: what no agent has begun is queued again, the rest is for its owner to say. */
export function recover(office: Office): void {
  const alive = office.runners.alive()
  for (const record of office.tasks.abandoned(alive, MAX_AT_ONCE)) {
    try {
      if (office.tasks.takeOver(record, office.runners.id)) takeUp(office, record)
    } catch (error) {
      office.environment.log.warn('a task could not be taken over', { task: record.id, why: reasonOf(error) })
    }
  }
}

function takeUp(office: Office, record: TaskRecord): void {
  const { start, wasPrompted } = record
  const live = liveOf(office, record, start.prompt, absentCaller(record))
  // Whoever waited in the foreground has gone with the gateway.
  if (wasPrompted || !start.request.background || start.prompt === undefined) {
    askToContinue(office, live, 'the gateway ended while it was at work')
    return
  }
  if (!live.journal.move(['queued', 'starting'], 'queued', { why: 'the gateway was started again' })) return
  const course = {
    agents: start.decision.chosen,
    beginning: beginningOf(record, start.prompt),
    wasAdmitted: true,
  }
  void run(office, live, course)
}
