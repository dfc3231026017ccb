import { cache } from '../../../../plugins/cache/index.ts'
import type { Answer, Call, Dispatch, Principal, Session, Upstream, UpstreamState } from '../../../../src/api/index.ts'
import { ANONYMOUS } from '../../../../src/api/principal.ts'
import type { CacheConfig } from '../../../../src/config/config.gen.ts'
import { PipelineCall, PipelineExchange } from '../../../../src/core/exchange.ts'
import { RECORDER } from '../install.ts'
import { PipelineSession } from '../../../../src/core/session.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { configOf, install, resultOf } from '../install.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

export const OPTIONS: CacheConfig = {
  lists: '5m',
  maxEntries: 1000,
  maxBytes: '64MiB',
}

/** The cache before an upstream `web` that answers by function; `spec` is what its section says. */
export async function bench(
  options: Partial<CacheConfig>,
  answer: (call: Call, nth: number) => Answer | Promise<Answer> = (_call, nth) => resultOf({ nth }),
  spec: JsonObject = {},
  upstream = { name: 'web', spec: { timeout: '60s', ...spec }, state: 'ready' as UpstreamState },
) {
  const clock = new HandClock()
  const config = configOf({ upstreams: { web: { timeout: '60s', ...spec } } })
  const hooks = await install(cache, { ...OPTIONS, ...options }, config, clock)
  const calls: Call[] = []
  const own: Dispatch = async call => {
    calls.push(call)
    return answer(call, calls.length)
  }
  const dispatch = hooks.getRunner('dispatch')?.(own, upstream as unknown as Upstream) ?? own
  const become = (state: UpstreamState): void => {
    upstream.state = state
    hooks.getRunner('upstreamState')?.('web', state, undefined)
  }
  const control = async (verb: string, params: JsonObject = {}): Promise<JsonObject> =>
    (await hooks.getRunner('control', verb)?.(params)) ?? {}
  return { clock, hooks, calls, dispatch, become, control, upstream }
}

/** A request of somebody, as it reaches the upstream. */
export function ask(
  method: string,
  params?: JsonObject,
  who: { subject?: string; scopes?: string[]; session?: string; headers?: Record<string, string> } = {},
): PipelineCall & { exchange: PipelineExchange } {
  const exchange = new PipelineExchange(
    1,
    sessionOf(who.session ?? 's', {
      ...ANONYMOUS,
      subject: who.subject ?? 'anonymous',
      scopes: who.scopes ?? [],
    }),
    { method, params, headers: who.headers ?? {}, emit: () => undefined },
    { emit: () => undefined, ask: () => Promise.resolve({ result: {} }), recorder: RECORDER },
    0,
  )
  return new PipelineCall('web', method, params, exchange)
}

export function tool(name: string, args: JsonObject = {}, who: Parameters<typeof ask>[2] = {}): PipelineCall {
  return ask('tools/call', { name, arguments: args }, who)
}

export function valueOf(answer: Answer): JsonObject {
  if ('result' in answer) return JSON.parse(answer.result.bytes().toString()) as JsonObject
  throw new Error(`no result: ${JSON.stringify(answer)}`)
}

function sessionOf(id: string, principal: Principal): Session {
  const client = {
    info: { name: 't', version: '1' },
    capabilities: {},
    version: '2026-07-28',
    logLevel: undefined,
  }
  return new PipelineSession({
    id,
    listener: 'test',
    principal,
    client: { ...client, era: 'modern' },
    notify: () => false,
  })
}
