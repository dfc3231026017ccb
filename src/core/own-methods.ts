import type { Answer, Exchange } from '../api/index.ts'
import { LOG_LEVELS } from '../protocol/era/modern.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { META } from '../protocol/methods.ts'
import { Payload } from '../protocol/payload.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import { MODERN_VERSIONS } from '../protocol/versions.ts'
import { known, mergedCapabilities, mergedInstructions } from './capabilities.ts'
import { detached } from './catalog/fetch-lists.ts'
import { PipelineCall, type PipelineExchange } from './exchange.ts'
import { listen, subscribe, unsubscribe } from './notifications/subscriptions.ts'
import { askTask, listTasks } from './tasks/task-methods.ts'
import { announceTasks } from './tasks/task-support.ts'
import type { Graph } from './graph-types.ts'

type OwnMethod = (exchange: PipelineExchange, graph: Graph) => Answer | Promise<Answer>

/** Methods that the gateway answers itself, whichever upstreams it has. */
export const OWN_METHODS: ReadonlyMap<string, OwnMethod> = new Map<string, OwnMethod>([
  ['initialize', initialize],
  ['ping', () => result({})],
  ['server/discover', discover],
  ['logging/setLevel', setLevel],
  ['subscriptions/listen', listen],
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
  ['tasks/get', askTask],
  ['tasks/update', askTask],
  ['tasks/cancel', askTask],
  ['tasks/result', askTask],
  ['tasks/list', listTasks],
])

async function initialize(exchange: Exchange, graph: Graph): Promise<Answer> {
  await known(graph)
  return result({
    protocolVersion: exchange.session.client.version,
    capabilities: announceTasks(mergedCapabilities(graph), exchange.session.client, graph),
    serverInfo: graph.identity(),
    instructions: await mergedInstructions(graph, exchange.session),
  })
}

async function discover({ session }: Exchange, graph: Graph): Promise<Answer> {
  await known(graph)
  return result({
    resultType: 'complete',
    supportedVersions: MODERN_VERSIONS,
    capabilities: announceTasks(mergedCapabilities(graph), session.client, graph),
    instructions: await mergedInstructions(graph, session),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [META.serverInfo]: graph.identity() },
  })
}

/** The level is the session's; servers are told so that they send enough, and what is too quiet is dropped on the way. */
function setLevel(exchange: Exchange, graph: Graph): Answer {
  const level = exchange.params?.level
  if (typeof level !== 'string' || !LOG_LEVELS.includes(level)) {
    return {
      error: rpcError(RPC.invalidParams, `Invalid params: "level" must be one of ${LOG_LEVELS.join(', ')}`),
    }
  }
  exchange.session.client.logLevel = level
  for (const { upstream, dispatch } of graph.upstreams.values()) {
    const { server, state } = upstream
    // One that sleeps has nothing to say, and is told with the first call that wakes it.
    if (server?.capabilities.logging === undefined || server.era === 'modern' || state === 'idle') continue
    const own = detached(graph, exchange.session, 'logging/setLevel')
    void dispatch(new PipelineCall(upstream.name, own.method, { level }, own)).catch(() => undefined)
  }
  return result({})
}

function result(value: JsonObject): Answer {
  return { result: Payload.of(value) }
}
