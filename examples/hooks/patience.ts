import { answer, type Plugin, type RunningCall } from 'tapgate/plugin'

// #region clientLimits
/** Knows how long a client of the house waits for an answer, for `shape.patience: client`. */
export const ownClients: Plugin = {
  name: 'own-clients',
  setup({ hooks }) {
    hooks.clientLimits.tap((known, name) => (name === 'our-agent' ? { ...known, timeoutMs: 20 } : undefined))
  },
}
// #endregion clientLimits

// #region patience
/** Answers a call that takes longer than a second, and says its outcome to whoever calls the tool once more. */
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
        return answer({ content: [{ type: 'text', text: 'it goes on: call it again' }] })
      },
    }))
  },
}
// #endregion patience
