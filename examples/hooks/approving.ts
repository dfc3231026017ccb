import { refuse, RPC, type Plugin } from 'tapgate/plugin'

// #region approval
/** Asks somebody by a way of its own about calls that a rule of `policy.ask` holds. */
export const asksOwner: Plugin<{ ask(question: string): Promise<boolean> }> = {
  name: 'asks-owner',
  setup({ options, hooks }) {
    hooks.approval.tap(async ({ name, call, findChange }) => {
      const isWanted = await options.ask(`${call.exchange.principal.subject} calls ${name}`)
      if (isWanted && findChange() === undefined) return { granted: true }
      return { granted: false, answer: refuse(RPC.invalidRequest, 'the owner said no') }
    })
  },
}
// #endregion approval
