import { answer, type Plugin, type RunningCall } from 'tapgate/plugin'

// #region clientLimits
/** Sets the timeout of a custom client, for `shape.patience: client`. */
export const ownClients: Plugin = {
  name: 'own-clients',
  setup({ hooks }) {
    hooks.services.tap(services => ({
      ...services,
      getClientLimits: name => (name === 'our-agent' ? { timeoutMs: 20 } : (services.getClientLimits?.(name) ?? {})),
    }))
  },
}
// #endregion clientLimits

// #region patience
/** Answers a call after a second, and returns its result when the tool is called again. */
export const inBackground: Plugin<{ ms?: number }> = {
  name: 'in-background',
  setup({ options, hooks }) {
    const running = new Map<string, RunningCall>()
    const keyOf = (caller: string, name: unknown) => JSON.stringify([caller, name])
    hooks.request.tap(
      { methods: ['tools/call'] },
      ({ principal, params }) => running.get(keyOf(principal.subject, params?.name))?.answer,
    )
    hooks.patience.tap({ methods: ['tools/call'] }, (_known, { exchange: { principal, params } }) => ({
      ms: options?.ms ?? 1000,
      createAnswer(call) {
        running.set(keyOf(principal.subject, params?.name), call)
        return answer({ content: [{ type: 'text', text: 'still running: call it again' }] })
      },
    }))
  },
}
// #endregion patience
