import type { PluginCommands } from '../../src/plugin.ts'

/** Exit code for failed cases. */
const FAILED = 6

export const commands: PluginCommands = {
  'policy test': {
    summary: 'Test the policy rules with example calls.',
    description:
      'Reads cases from a YAML or JSON file; starts no server. Exit codes: 0 all as expected, 6 some failed, 2 the file is unreadable, 3 the configuration is invalid.',
    examples: ['gateway policy test cases.yaml', 'gateway policy test cases.yaml -c gateway.yaml --json'],
    args: { file: { required: true, description: 'A list of cases, or a map with "cases".' } },
    gateway: 'configuration',
    async run(call) {
      const { config } = await call.load()
      const { runCases } = await import('./policy-cases.ts')
      const results = runCases(await call.readData(call.args.file ?? ''), config)
      const failed = results.filter(({ isOk }) => !isOk).length
      call.print({ failed, cases: results }, () => [
        ...call.table([
          ['', 'CASE', 'EXPECTED', 'ACTUAL', 'RULE'],
          ...results.map(({ name, isOk, expected, effect, rule, note }) => [
            isOk ? call.out.paint('green', 'ok') : call.out.paint('red', 'FAIL'),
            name,
            expected,
            effect,
            [rule ?? '', note ?? ''].filter(text => text !== '').join(' – '),
          ]),
        ]),
        `${results.length} cases, ${failed} failed`,
      ])
      return failed > 0 ? FAILED : 0
    },
  },
}
