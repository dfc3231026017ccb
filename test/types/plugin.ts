// Never run: that this file compiles is the test. It is a plugin as an author writes it, followed by mistakes that must not compile.
import { answer, gatewayError, refuse, type Answer, type Plugin } from '../../src/plugin.ts'

const LIST_METHODS = ['tools/list', 'prompts/list']

export const tour: Plugin<{ words: readonly string[] }> = {
  name: 'tour',
  schema: { type: 'object', properties: { words: { type: 'array', items: { type: 'string' } } } },
  requires: ['routing'],

  setup({ options, config, hooks, log, clock, slot }) {
    if (options.words.length === 0) throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'tour', why: 'no words' })
    const started = slot.exchange(() => clock.now())
    const seen = slot.session(() => new Set<string>())

    hooks.session.tap(session => void seen.get(session).add(session.principal.subject))
    hooks.request.tap({ stage: 'limit', methods: ['tools/call'] }, exchange => {
      started.set(exchange, clock.now())
      return options.words.includes(String(exchange.params?.name)) ? refuse(-32602, 'not that one') : undefined
    })
    hooks.request.tap({ methods: LIST_METHODS, before: 'cache' }, async () => answer({ tools: [] }))
    hooks.route.tap(exchange => ({
      to: 'one',
      upstream: Object.keys(config.upstreams ?? {})[0] ?? '',
      params: exchange.params,
    }))
    hooks.call.tap(call => {
      call.headers['x-tour'] = '1'
      call.params = { ...call.params, _meta: {} }
    })
    hooks.dispatch.tap(
      (next, upstream) => call => (upstream.state === 'ready' ? next(call) : Promise.resolve(refuse(-32603, 'later'))),
    )
    hooks.response.tap({ stage: 'transform' }, given =>
      'result' in given ? answer({ ...given.result.value() }) : given,
    )
    hooks.settled.tap(exchange => log.info('settled', { ms: clock.now() - started.get(exchange) }))
    hooks.catalog.tap(entries => entries.filter(({ exposed }) => !exposed.startsWith('_')))
    hooks.notification.tap(({ method }, { direction }) =>
      direction === 'client' && method.endsWith('/message') ? 'drop' : undefined,
    )
    hooks.clientRequest.tap(ask => (ask.method === 'roots/list' ? answer({ roots: [] }) : undefined))
    hooks.createUpstream.for('mine').tap(() => undefined)
    hooks.upstreamState.tap((upstream, state, problem) => log.warn(`${upstream} is ${state}`, { problem }))
    hooks.close.tap({ stage: 'trace' }, async () => undefined)
  },
}

export const mistakes: Plugin = {
  name: 'mistakes',
  setup({ options, config, hooks }) {
    // @ts-expect-error options of an untyped plugin are unknown
    options.words
    // @ts-expect-error the configuration is read only
    config.version = 1
    // @ts-expect-error there is no such hook
    hooks.respond.tap(() => undefined)
    // @ts-expect-error there is no such stage
    hooks.request.tap({ stage: 'early' }, () => undefined)
    // @ts-expect-error a request is answered with an Answer, not with a bare result
    hooks.request.tap(() => ({ tools: [] }))
    // @ts-expect-error a route is decided at once
    hooks.route.tap(async () => ({ to: 'one' as const, upstream: 'web', params: undefined }))
    // @ts-expect-error one upstream has its parameters
    hooks.route.tap(() => ({ to: 'one', upstream: 'web' }))
    // @ts-expect-error the method of a call is not the plugin's to change
    hooks.call.tap(call => (call.method = 'tools/list'))
    // @ts-expect-error the only word for stopping a notification is 'drop'
    hooks.notification.tap(() => 'stop')
    // @ts-expect-error upstream types are keys
    hooks.createUpstream.tap(() => undefined)
    // @ts-expect-error the function is missing
    hooks.settled.tap({ stage: 'trace' })
  },
}

// @ts-expect-error a plugin has a name
export const nameless: Plugin = { setup: () => undefined }

// @ts-expect-error a plugin has a setup
export const idle: Plugin = { name: 'idle' }

// @ts-expect-error an answer is exactly one of result, error and input
export const nothing: Answer = {}
