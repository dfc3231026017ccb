import { refuse, RPC, type Plugin } from 'tapgate/plugin'

// #region approval
/** Decides on calls held by `policy.ask` with a custom prompt. */
export const asksOwner: Plugin<{ ask(question: string): Promise<boolean> }> = {
  name: 'asks-owner',
  setup({ options, hooks }) {
    hooks.approval.tap(async ({ name, call, findChange }) => {
      const isWanted = await options.ask(`${call.exchange.principal.subject} calls ${name}`)
      if (isWanted && findChange() === undefined) return { granted: true }
      return { granted: false, answer: refuse(RPC.invalidRequest, 'denied by the owner') }
    })
  },
}
// #endregion approval
