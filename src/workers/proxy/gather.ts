import type { Config } from '../../config/index.ts'
import type { Gate, HttpReply, HttpRequest, TextReply } from '../../api/index.ts'
import { ANONYMOUS } from '../../api/principal.ts'
import { builtins } from '../../gateway/builtins.ts'
import type { Plugin } from '../../plugin.ts'

/** A page as its reader asked for it, and where. */
interface Asked {
  readonly path: string
  readonly method: string
  readonly listener: string
  readonly accept: readonly string[]
}

/** Plugins that make one answer of those of all processes, such as figures. */
const MERGING = builtins.filter(({ merge }) => merge !== undefined)

/** The gate of a process as its listeners see it: of some paths it gives the answers of all processes as one, which the primary collects. */
export function gathering(
  gate: Gate,
  config: () => Config | undefined,
  ask: (what: string, value: unknown) => Promise<unknown>,
): Gate {
  return {
    info: gate.info,
    get isDraining() {
      return gate.isDraining
    },
    openSession: init => gate.openSession(init),
    closeSession: (session, reason) => gate.closeSession(session, reason),
    run: (session, inbound) => gate.run(session, inbound),
    notified: (session, notification) => gate.notified(session, notification),
    admit: listener => gate.admit(listener),
    choices: (query, by) => gate.choices(query, by),
    authenticate: credentials => gate.authenticate(credentials),
    refused: (refusal, credentials) => gate.refused(refusal, credentials),
    readiness: caller => gate.readiness(caller),
    status: () => gate.status(),
    health: () => gate.health(),
    figures: () => gate.figures(),
    serve(request) {
      if (mergeAt(request.path, config()) === undefined) return gate.serve(request)
      const { path, method, listener } = request
      const asked: Asked = { path, method, listener, accept: request.header('accept') }
      return ask('gather', asked) as Promise<HttpReply>
    },
  }
}

/** Makes one answer of those that came, by the name of the process. */
export function merged(replies: ReadonlyMap<string, TextReply>, asked: unknown, config: Config): TextReply {
  return mergeAt((asked as Asked).path, config)?.answers(replies) ?? { status: 404, body: '' }
}

function mergeAt(path: string, config: Config | undefined): Plugin['merge'] {
  return MERGING.find(({ merge, claims }) => {
    const options = claims?.section === undefined ? undefined : config?.[claims.section]
    return options !== undefined && merge?.path(options as never) === path
  })?.merge
}

/** Asks this process for its own answer on a path. */
export async function ownReply(gate: Gate, asked: unknown): Promise<TextReply> {
  const reply = await gate.serve(requestFor(gate, asked as Asked))
  const { status = 404, headers, body = '' } = reply ?? {}
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : ''
  return headers === undefined ? { status, body: text } : { status, headers, body: text }
}

function requestFor(gate: Gate, { path, method, listener, accept }: Asked): HttpRequest {
  return {
    path,
    method,
    listener,
    endpoint: '',
    remoteAddress: undefined,
    header: name => (name === 'accept' ? accept : []),
    query: new URLSearchParams(),
    caller: ANONYMOUS,
    profile: undefined,
    gate,
    label: undefined,
    passed: {},
    body: () => Promise.resolve(Buffer.alloc(0)),
    onGone: () => undefined,
  }
}
