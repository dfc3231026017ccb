import type { Graph } from '../graph-types.ts'
import { gatewayError } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { hideIn } from '../../util/secrets.ts'

/** Tasks in one answer. */
const MOST = 1000

/** Calls that go on as tasks of ours, of all callers, the newest first. */
export function listTasks({ tasks, hide }: Graph, { limit = MOST }: JsonObject): object {
  const count = Number(limit)
  return { tasks: hideIn(tasks.all().slice(0, count > 0 ? count : MOST), hide) }
}

/**
 * Ends one for the owner of the gateway. Answers with numbers, as several processes are asked, of which one has the task.
 * @throws GatewayError GW_VERB_PARAMS where none is named.
 */
export function cancelTask({ tasks }: Graph, { task }: JsonObject): object {
  if (typeof task !== 'string')
    throw gatewayError('GW_VERB_PARAMS', { verb: 'tasks.cancel', why: '"task" must be the id of one' })
  const cancelled = tasks.cancel(task, 'the owner of the gateway cancelled it')
  return { found: cancelled === undefined ? 0 : 1, cancelled: cancelled === true ? 1 : 0 }
}
