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
    const background = new Map<string, RunningCall>()
    const keyOf = (caller: string, name: unknown) => JSON.stringify([caller, name])
    hooks.request.tap(
      { methods: ['tools/call'] },
      ({ principal, params }) => background.get(keyOf(principal.subject, params?.name))?.answer,
    )
    hooks.call.tap({ methods: ['tools/call'], setsPatience: true }, call => {
      const { principal, params } = call.exchange
      call.patience = {
        ms: options?.ms ?? 1000,
        createAnswer(running) {
          background.set(keyOf(principal.subject, params?.name), running)
          return answer({ content: [{ type: 'text', text: 'still running: call it again' }] })
        },
      }
    })
  },
}
// #endregion patience
