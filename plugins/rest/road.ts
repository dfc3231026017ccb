import { randomUUID } from 'node:crypto'
import type {
  Answer,
  ClientSide,
  Clock,
  HttpRequest,
  JsonObject,
  Notification,
  Session,
} from '../../src/plugin.ts'

/** One request to the façade. */
export interface RestRequest {
  readonly http: HttpRequest
  /** The profile that its path names. */
  readonly profile: string | undefined
  /** Prefix of the façade's paths here. */
  readonly base: string
}

interface Errand {
  readonly method: string
  readonly params: JsonObject | undefined
  /** The input that the parameters were made from. */
  readonly received?: JsonObject
  /** Hears what is said ahead of the answer; without it nobody wants to. */
  readonly emit?: (notification: Notification) => void
}

/** The way of a request through the gateway. */
export interface RestSessions {
  readonly clock: Clock
  /** Opens a session for `work`, and ends it. Rejects with a GatewayError when a plugin refuses the session. */
  within<T>(request: RestRequest, isTold: boolean, work: (visit: Visit) => Promise<T>): Promise<T>
}

/** A session for the time of one request. */
export interface Visit {
  run(errand: Errand): Promise<Answer>
}

const SILENT = (): void => undefined

export function REST_SESSIONS(clock: Clock): RestSessions {
  // No other conversation has such an id, after a reload neither.
  const own = randomUUID()
  let count = 0
  return {
    clock,
    async within(request, isTold, work) {
      const { http, profile = http.profile } = request
      const { gate, listener, caller: principal, label } = http
      const session = await gate.openSession({
        id: `rest-${own}-${++count}`,
        listener,
        principal,
        label,
        profile,
        client: clientOf(isTold),
        notify: () => false,
      })
      let isGone = false
      http.onGone(() => (isGone = true))
      try {
        return await work({ run: errand => run(http, session, errand) })
      } finally {
        gate.closeSession(session, isGone ? 'disconnected' : 'answered')
      }
    },
  }
}

async function run(http: HttpRequest, session: Session, errand: Errand): Promise<Answer> {
  const { method, params, received, emit = SILENT } = errand
  const { remoteAddress } = http
  const inbound = {
    method,
    params,
    received,
    headers: headersOf(http),
    via: 'rest',
    remoteAddress,
    credentials: http,
    emit,
  } as const
  const running = http.gate.run(session, inbound)
  http.onGone(() => running.cancel('the client closed the connection'))
  return running.answer
}

/** A client without capabilities: whoever asks it for something hears that. */
function clientOf(isTold: boolean): ClientSide {
  return {
    info: { name: 'rest', version: '1' },
    capabilities: {},
    version: '2026-07-28',
    era: 'modern',
    logLevel: isTold ? 'info' : undefined,
  }
}

/** Headers of MCP mean nothing where no MCP is spoken. */
function headersOf({ passed }: HttpRequest): Record<string, string> {
  return Object.fromEntries(Object.entries(passed).filter(([name]) => !name.startsWith('mcp-')))
}
