import { isObject, type JsonObject } from '../../../src/plugin.ts'
import { AgentFailure, type AgentSession, type SessionRequest } from '../types/agent.ts'
import { withMethods } from './login.ts'
import { settingsFor } from '../acp/session-options.ts'

import { LiveSession, type SessionProcess } from './session.ts'

const MAX_ID = 1024

/** A new session, or one that is taken up again, set as configured. @throws AgentFailure; no session is left then */
export async function openSession(process: SessionProcess, wanted: SessionRequest): Promise<LiveSession> {
  try {
    const { session, opened } = await (wanted.resume === undefined
      ? create(process, wanted)
      : takeUp(process, wanted, wanted.resume))
    await choose(process, session, opened, wanted)
    return session
  } catch (error) {
    throw error instanceof AgentFailure ? withMethods(error, process.facts) : error
  }
}

interface Opened {
  readonly session: LiveSession
  readonly opened: JsonObject
}

async function create(process: SessionProcess, wanted: SessionRequest): Promise<Opened> {
  const answer = await demand(process, 'session/new', placeOf(process, wanted))
  const id = isObject(answer) ? answer.sessionId : undefined
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID)
    throw failure(process, 'protocol', 'it opened a session without an id')
  if (process.sessions.has(id)) {
    process.retire()
    throw failure(process, 'protocol', 'it gave a new session the id of one that is open')
  }
  const session = new LiveSession(process, id, 'new', wanted.side)
  process.sessions.set(id, session)
  return { session, opened: isObject(answer) ? answer : {} }
}

async function takeUp(process: SessionProcess, wanted: SessionRequest, id: string): Promise<Opened> {
  if (process.sessions.has(id)) throw failure(process, 'busy', 'that session is open already')
  const { canResume, canLoad } = process.facts
  const ways: AgentSession['how'][] = [
    ...(canResume ? (['resumed'] as const) : []),
    ...(canLoad ? (['loaded'] as const) : []),
  ]
  let why = 'it can neither resume nor load sessions'
  for (const how of ways) {
    const session = new LiveSession(process, id, how, wanted.side)
    process.sessions.set(id, session)
    try {
      const params = { sessionId: id, ...placeOf(process, wanted) }
      const answer = await demand(process, how === 'resumed' ? 'session/resume' : 'session/load', params)
      session.isReplaying = false
      return { session, opened: isObject(answer) ? answer : {} }
    } catch (error) {
      process.sessions.delete(id)
      if (!(error instanceof AgentFailure) || error.kind !== 'refused') throw error
      why = error.message
    }
  }
  throw failure(process, 'lost', why)
}

/** A server that the agent cannot reach over http is not given to it: some refuse the session then. */
function placeOf(process: SessionProcess, { cwd, mcpServers }: SessionRequest): JsonObject {
  const servers = process.facts.mcpHttp ? mcpServers : mcpServers.filter(({ type }) => type !== 'http')
  return { cwd, mcpServers: servers }
}

async function choose(
  process: SessionProcess,
  session: LiveSession,
  opened: JsonObject,
  wanted: SessionRequest,
): Promise<void> {
  const { id, mode, model, options } = process.settings
  const wished = { mode: wanted.mode ?? mode, model: wanted.model ?? model, options }
  try {
    for (const { method, params } of settingsFor(id, opened, wished))
      await demand(process, method, { sessionId: session.id, ...params })
  } catch (error) {
    await process.close(session)
    throw error
  }
}

function demand(process: SessionProcess, method: string, params: JsonObject): Promise<unknown> {
  return process.demand('session', method, params, process.settings.timeouts.sessionMs)
}

function failure(process: SessionProcess, kind: AgentFailure['kind'], what: string): AgentFailure {
  return new AgentFailure(kind, 'session', `agent "${process.settings.id}": ${what}`)
}
