import type { Exchange, Payload } from './index.ts'

/** What can come of an exchange, in short. */
export const OUTCOMES = ['ok', 'is_error', 'error', 'refused', 'cancelled', 'input_required', 'task'] as const

/**
 * `ok` · `is_error` a tool said that it failed · `error` · `refused` by a plugin or the catalog, before any server was
 * asked · `cancelled` by the client · `input_required` the client is asked first · `task` goes on after this answer.
 */
export type Outcome = (typeof OUTCOMES)[number]

/** What came of an exchange that is settled. */
export function outcomeOf({ method, answer, cancelled, route, decidedBy }: Exchange): Outcome {
  if (cancelled) return 'cancelled'
  if (answer === undefined) return 'error'
  if ('result' in answer) return method === 'tools/call' && hasFailed(answer.result) ? 'is_error' : 'ok'
  if ('input' in answer) return 'input_required'
  if ('task' in answer) return 'task'
  return decidedBy !== undefined || route === undefined ? 'refused' : 'error'
}

/** Whether a tool said of its result that it failed (`isError`). A result is read only where it says something of the kind. */
export function hasFailed(result: Payload): boolean {
  return result.isToolError
}
