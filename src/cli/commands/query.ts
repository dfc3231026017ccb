import { string } from '@oclif/core/flags'
import {
  QUERY_FLAGS,
  createCommand,
  CONFIG_FLAGS,
  CONTROL_FLAGS,
  optionalArgument,
  requiredArgument,
  booleanFlag,
} from '../command.ts'

/** Commands that ask a configuration, or a gateway, and change nothing. */
export const QUERY_COMMANDS = {
  validate: createCommand({
    summary: 'Check a configuration: all that serve does, short of starting anything.',
    description:
      'With --online each server is started, greeted and asked for its lists, and nothing else; the gateway that runs is left alone. ' +
      'Exit codes: 0 valid, 2 wrong usage, 3 invalid configuration, 4 a plugin failed to set up, or a server did not answer.',
    examples: [
      'gateway validate',
      'gateway validate --config gateway.yaml --env production --json',
      'gateway validate --online --within 30s',
      'gateway validate --set listeners.main.port=9000',
    ],
    flags: {
      ...CONFIG_FLAGS,
      exec: booleanFlag({ summary: 'Run the commands of ${exec:…} and ${keyring:…} too.' }),
      online: booleanFlag({
        summary:
          'Start the servers too, and say what is there: handshakes, names and schemas for each client, tokens.',
      }),
      within: string({
        summary: 'Time that servers have to start, with --online; 60s.',
        helpValue: '<duration>',
      }),
    },
    run: async ({ flags, terminal }) => (await import('../local/validate.ts')).runValidate(flags, terminal),
  }),

  inspect: createCommand({
    summary: 'Show the effective configuration, the graph and who owns which name.',
    description: [
      'Asks the gateway that runs with the configuration. Where none runs it starts the upstreams,',
      'but no listener, and waits until each is ready or has failed.',
      'Secrets are not shown.',
    ],
    examples: ['gateway inspect', 'gateway inspect --offline --origins', 'gateway inspect --json'],
    flags: {
      live: booleanFlag({
        allowNo: true,
        default: true,
        summary: 'Start the upstreams and show what they offer.',
      }),
      offline: booleanFlag({
        exclusive: ['live'],
        summary: 'Start nothing: configuration, plugins and hooks only.',
      }),
      origins: booleanFlag({ summary: 'Say of each value where it comes from.' }),
      ...QUERY_FLAGS,
    },
    async run({ flags, terminal, print }) {
      const { inspectGateway, formatInspection } = await import('../local/inspect.ts')
      const inspection = await inspectGateway(flags, flags.live && !flags.offline, terminal)
      print(inspection, () => formatInspection(inspection, flags.origins, terminal))
    },
  }),

  tools: createCommand({
    summary: 'List the tools that clients see.',
    description: 'Asks the gateway that runs with the configuration, or one of its own where none runs.',
    examples: [
      'gateway tools',
      "gateway tools 'files__*'",
      'gateway tools search --json',
      'gateway tools --tokens',
    ],
    args: { pattern: optionalArgument('A glob, or a part of the name.') },
    flags: {
      ...QUERY_FLAGS,
      tokens: booleanFlag({
        summary: 'Estimate what each tool costs the context of a model, the dearest first, with sums.',
      }),
    },
    async run({ args, flags, terminal, print }) {
      const { formatCosts, estimateCosts, listTools, formatTools } = await import('../local/tools.ts')
      const tools = await listTools(flags, args.pattern, terminal)
      if (!flags.tokens) return print({ tools }, () => formatTools(tools, terminal))
      const costs = estimateCosts(tools)
      print(costs, () => formatCosts(costs, terminal))
    },
  }),

  call: createCommand({
    summary: 'Call one tool, as a client would.',
    description: [
      'Goes through the gateway that runs with the configuration, or one of its own where none runs.',
      'Arguments are a JSON object in --args, or KEY=VALUE after the name of the tool, or both.',
      'Exit codes: 0 the tool answered, 2 wrong usage or no such tool, 3 invalid configuration,',
      '4 its server did not start, 5 the tool or its server said no.',
    ],
    usage:
      'call TOOL [KEY=VALUE...] [--args <json>] [-c <file>] [--env <name>] [--set <key=value>...] [--fresh] [--socket <file>] [--json]',
    examples: [
      'gateway call files__read_file path=README.md',
      `gateway call memory__search_nodes --args '{"query": "gateway"}'`,
      'gateway call web__search --args - --json < arguments.json',
    ],
    takesRest: true,
    args: { tool: requiredArgument('Name of the tool, as clients see it.') },
    flags: {
      args: string({
        char: 'a',
        helpValue: '<json>',
        summary: 'Its arguments as a JSON object; - reads them from stdin.',
      }),
      ...QUERY_FLAGS,
    },
    async run({ args, words: [, ...pairs], flags, terminal, host, print }) {
      const { callTool, getExitCode, readArguments, formatResult } = await import('../local/call.ts')
      const given = await readArguments({ json: flags.args, pairs, stdin: host.stdin })
      const result = await callTool(flags, args.tool, given, terminal)
      print(result, () => formatResult(result, terminal.out))
      return getExitCode(result)
    },
  }),

  explain: createCommand({
    summary: 'Say what would come of a call of a tool, step by step, without calling it.',
    description: [
      'Asks the gateway that runs with the configuration, or one of its own where none runs: whose tool it is, which',
      'rules it meets, what is kept, which limits it counts on, and who would answer. Nothing is called or counted.',
      'Arguments are a JSON object in --args, or KEY=VALUE after the name of the tool, or both, as for gateway call.',
    ],
    usage:
      'explain TOOL [KEY=VALUE...] [--args <json>] [--as <who>] [--scope <scope>...] [--client <name>] [--profile <name>] [-c <file>] [--env <name>] [--set <key=value>...] [--fresh] [--json]',
    examples: [
      'gateway explain files__read_file path=README.md',
      'gateway explain files__write_file --as key:ci --args \'{"path":"/etc/passwd"}\'',
      'gateway explain web__search --client cursor --json',
    ],
    takesRest: true,
    args: { tool: requiredArgument('The name, as clients know it.') },
    flags: {
      as: string({
        helpValue: '<who>',
        summary: 'The caller: key:<name>, token:<subject>, or anonymous, the default.',
      }),
      scope: string({
        helpValue: '<scope>',
        multiple: true,
        multipleNonGreedy: true,
        summary: 'A scope of the caller, in the place of those of its key.',
      }),
      client: string({ helpValue: '<name>', summary: 'The name of the client program, such as cursor.' }),
      profile: string({ helpValue: '<name>', summary: 'The profile that the client connects to.' }),
      args: string({
        helpValue: '<json>',
        summary: 'The arguments of the call as a JSON object; - reads them from stdin.',
      }),
      ...QUERY_FLAGS,
    },
    async run({ args, words: [, ...pairs], flags, terminal, host, print }) {
      const { explainTool, formatExplanation } = await import('../local/explain.ts')
      const { readArguments } = await import('../local/call.ts')
      const isGiven = flags.args !== undefined || pairs.length > 0
      const given = isGiven ? await readArguments({ json: flags.args, pairs, stdin: host.stdin }) : undefined
      const explanation = await explainTool(args.tool, given, flags, terminal)
      print(explanation, () => formatExplanation(explanation, terminal))
    },
  }),

  plan: createCommand({
    summary: 'Say what would change with another configuration, without changing anything.',
    description: [
      'Compares with the gateway that runs, or with the present file where none runs: servers started, stopped and kept;',
      'tools added, removed, renamed and changed. Servers that are new are started for it. Exit codes: 0 nothing would change, 6 something would.',
    ],
    examples: ['gateway plan -c new.yaml', 'gateway plan -c new.yaml --against gateway.yaml --json'],
    flags: {
      against: string({
        helpValue: '<file>',
        summary:
          'The configuration in force. Default: that of the gateway that runs with the new file, or the nearest gateway.yaml.',
      }),
      ...CONFIG_FLAGS,
      socket: CONTROL_FLAGS.socket,
    },
    async run({ flags, terminal, print }) {
      const { createPlan, formatPlan, CHANGES_EXIT_CODE } = await import('../local/explain.ts')
      const plan = await createPlan(flags, terminal)
      print(plan, () => formatPlan(plan, terminal))
      return plan.changes ? CHANGES_EXIT_CODE : 0
    },
  }),

  doctor: createCommand({
    summary: 'Look for what is wrong with a gateway, its files and its clients, and mend what is safe.',
    description: [
      'Looks at the configuration, programs, variables, ports, modes of files, what dead gateways have left, the settings',
      'of clients, and the gateway that runs. Exit codes: 0 nothing worse than a note, 1 warnings, 6 errors,',
      '2 wrong usage.',
    ],
    examples: [
      'gateway doctor',
      'gateway doctor --fix --dry-run',
      'gateway doctor --fix',
      'gateway doctor --online --json',
    ],
    flags: {
      online: booleanFlag({
        summary: 'Ask each server what it offers, too; where no gateway runs, that starts them.',
      }),
      fix: booleanFlag({
        summary:
          'Mend what is safe: modes, what dead processes left, missing directories, entries of clients that lead nowhere.',
      }),
      'dry-run': booleanFlag({ dependsOn: ['fix'], summary: 'Say what --fix would do.' }),
      ...QUERY_FLAGS,
    },
    run: async ({ flags, terminal, host }) =>
      (await import('../doctor/doctor.ts')).runDoctor(flags, terminal, host),
  }),

  errors: createCommand({
    summary: 'Explain the errors of the gateway and of its plugins.',
    description:
      'With a configuration in reach, the plugins that it names are loaded for theirs. Exit codes: 0 shown, 2 no such error.',
    examples: ['gateway errors', 'gateway errors GW_UPSTREAM_START', 'gateway errors --json'],
    args: { code: optionalArgument('This one only.') },
    flags: CONFIG_FLAGS,
    async run({ args, flags, terminal, print }) {
      const { formatErrors, listErrors, findError } = await import('../local/errors.ts')
      const all = await listErrors(flags, terminal)
      const shown = args.code === undefined ? all : findError(args.code, all)
      print(shown, () => formatErrors(shown, terminal.out))
    },
  }),
}
