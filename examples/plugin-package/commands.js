/** The command `gateway budget show`, which asks the gateway that runs. */
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
