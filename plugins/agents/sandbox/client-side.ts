import type { ClientSideOptions } from './gateway-files.ts'
import { GatewayError, type JsonObject, RPC } from '../../../src/plugin.ts'
import type { SessionSide } from '../types/agent.ts'
import { readText, writeText } from './files.ts'
import { Roots } from './paths.ts'
import { RequestRefused, Terminals } from './terminals.ts'

/** Requests of one method and session that go on at a time: each may hold a file. */
const MAX_FILES = 8
/** As many as a task may have terminals to wait for. */
const MAX_TERMINALS = 64

/** Services of the gateway for the agent of one session. */
export interface ClientSide {
  /** For `SessionSide.handlers`: what is off is absent. */
  readonly handlers: SessionSide['handlers']
  /** Ends what still runs. */
  dispose(): Promise<void>
}

type Handler = (params: JsonObject) => Promise<JsonObject>

/** The handlers of one session. They do not bind what the agent does with its own tools. */
export async function clientSide(options: ClientSideOptions): Promise<ClientSide> {
  const { directory, files, settings, own: gateways } = options
  const { readFiles, writeFiles, maxFile, terminal } = settings.client
  const own = await Roots.of([directory], directory)
  const readable = await Roots.of([directory, ...files], directory)
  const terminals = terminal && new Terminals(options, terminal, own)
  const handlers: [string, Handler][] = [
    ...rows(readFiles, { 'fs/read_text_file': params => readText(readable, params, maxFile, gateways) }),
    ...rows(writeFiles, { 'fs/write_text_file': params => writeText(own, params, maxFile, gateways) }),
    ...(terminals === undefined ? [] : terminalRows(terminals)),
  ]
  return {
    handlers: new Map(handlers.map(([method, handler]) => [method, bounded(method, handler)])),
    dispose: async () => terminals?.dispose(),
  }
}

function rows(isOn: boolean, handlers: Record<string, Handler>): [string, Handler][] {
  return isOn ? Object.entries(handlers) : []
}

function terminalRows(terminals: Terminals): [string, Handler][] {
  return rows(true, {
    'terminal/create': params => terminals.create(params),
    'terminal/output': params => terminals.output(params),
    'terminal/wait_for_exit': params => terminals.wait(params),
    'terminal/kill': params => terminals.kill(params),
    'terminal/release': params => terminals.release(params),
  })
}

/** The same handler, of which only so many go on at a time, and which fails in words for the agent. */
function bounded(method: string, handler: Handler): Handler {
  const most = method.startsWith('fs/') ? MAX_FILES : MAX_TERMINALS
  let running = 0
  return async params => {
    if (running >= most) throw new RequestRefused(RPC.internal, 'too many requests at a time')
    running++
    try {
      return await handler(params)
    } catch (error) {
      throw forAgent(error)
    } finally {
      running--
    }
  }
}

/** In words and codes that an agent knows: a file that is not there is another thing than one that it may not have. */
function forAgent(error: unknown): RequestRefused {
  if (error instanceof RequestRefused) return error
  if (!(error instanceof GatewayError)) return new RequestRefused(RPC.internal, 'internal error')
  const isMissing = error.code === 'GW_AGENT_PATH' && error.fields.missing === true
  const code = isMissing ? RPC.legacyNoResource : (error.entry.rpc ?? RPC.internal)
  return new RequestRefused(code, error.message)
}
