import { GatewayError, reasonOf } from '../../../src/plugin.ts'
import { AgentFailure, type AgentHealth, type FailureKind } from '../types/agent.ts'

/** What is known of an agent after this came of a start or a session. */
export function healthAfter(error: unknown, before: AgentHealth): AgentHealth {
  if (!(error instanceof AgentFailure)) return before
  const facts = before.facts === undefined ? {} : { facts: before.facts }
  if (error.kind === 'auth') return { state: 'needs_auth', why: error.publicMessage, ...facts }
  const isOut = OUT.has(error.kind) && STARTS.has(error.phase)
  return isOut ? { state: 'unavailable', why: error.publicMessage, ...facts } : before
}

const OUT: ReadonlySet<FailureKind> = new Set(['spawn', 'timeout', 'crash', 'protocol', 'refused'])
/** Phases that every task would fail in. */
const STARTS: ReadonlySet<string> = new Set(['spawn', 'initialize', 'auth'])

/** Whatever kept a process from being started, as a failure of the agent. */
export function whyNotStarted(error: unknown): AgentFailure {
  if (error instanceof AgentFailure) return error
  const failure = new AgentFailure(
    'spawn',
    'spawn',
    reasonOf(error),
    error instanceof GatewayError ? { code: error.code } : undefined,
  )
  failure.cause = error
  return failure
}
