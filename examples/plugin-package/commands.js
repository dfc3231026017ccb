/** The command `gateway budget show`, which queries the running gateway. */
export const commands = {
  'budget show': {
    summary: 'Show the budget of each caller, and how many have used it.',
    gateway: 'running',
    async run(call) {
      const budget = await call.withGateway('running', ask => ask('budget.show'))
      call.print(budget, () => [`${budget.callers} callers, ${budget.calls} calls each`])
    },
  },
}
