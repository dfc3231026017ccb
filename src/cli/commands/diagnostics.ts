import { string } from '@oclif/core/flags'
import { FINDINGS_EXIT_CODE } from '../../errors/table.ts'
import {
  CALLER_FLAG,
  QUERY_FLAGS,
  createCommand,
  CONFIG_FLAGS,
  CONTROL_FLAGS,
  FORMAT_FLAG,
  optionalArgument,
  requiredArgument,
  booleanFlag,
} from '../command.ts'

/** Read-only commands for a configuration or a gateway. */
export const QUERY_COMMANDS = {
  validate: createCommand({
    summary: 'Check a configuration without starting anything.',
    description:
      'Exit codes: 0 valid, 2 wrong usage, 3 invalid configuration, 4 a plugin failed to set up. ' +
      'gateway doctor --online also starts the servers.',
    examples: [
      'gateway validate',
      'gateway validate --config gateway.yaml --env production --json',
      'gateway validate --set listeners.main.port=9000',
    ],
    flags: {
      ...FORMAT_FLAG,
      ...CONFIG_FLAGS,
      exec: booleanFlag({ summary: 'Also run the commands of ${exec:…} and ${keyring:…}.' }),
    },
    async run({ flags, terminal, print }) {
      const { validate, formatValidation } = await import('../local/validate.ts')
      const { createProblemFinding } = await import('../output/report.ts')
      const validation = await validate(flags, terminal)
      const findings = () => validation.warnings.map(createProblemFinding)
      print(validation, () => formatValidation(validation, terminal), findings)
    },
  }),

  inspect: createCommand({
    summary: 'Show the configuration with its overlays, the plugins and hooks, and the catalog.',
    description: [
      'Asks the running gateway of the configuration. If none is running, starts the upstreams without listeners and waits',
      'until each is ready or has failed.',
      'Secrets are hidden.',
    ],
    examples: ['gateway inspect', 'gateway inspect --offline --origins --defaults', 'gateway inspect --json'],
    flags: {
      offline: booleanFlag({
        summary: 'Start nothing: show only configuration, plugins and hooks.',
      }),
      defaults: booleanFlag({ summary: 'Also show the settings that have their default value.' }),
      origins: booleanFlag({ summary: 'Show the origin of each value.' }),
      ...QUERY_FLAGS,
    },
    async run({ flags, terminal, print }) {
      const { inspectGateway, formatInspection } = await import('../local/inspect.ts')
      const inspection = await inspectGateway(flags, terminal)
      print(inspection, () => formatInspection(inspection, flags.origins, terminal))
    },
  }),

  tools: createCommand({
    summary: 'List the tools that clients see, or describe one.',
    description: 'Asks the running gateway of the configuration, or starts a temporary one.',
    examples: [
      'gateway tools',
      'gateway tools files__read_file',
      "gateway tools 'files__*'",
      'gateway tools search --json',
      'gateway tools --tokens',
      'gateway tools --as key:ci',
    ],
    args: { pattern: optionalArgument('Name, glob, or part of the name.') },
    flags: {
      ...CALLER_FLAG,
      ...QUERY_FLAGS,
      tokens: booleanFlag({
        summary: 'Estimate the tokens of each tool, largest first, with totals.',
      }),
    },
    async run({ args, flags, terminal, print }) {
      const { formatCosts, estimateCosts, listTools, formatTools } = await import('../local/tools.ts')
      const tools = await listTools(flags, args.pattern, terminal)
      if (!flags.tokens) return print({ tools }, () => formatTools(tools, args.pattern, terminal))
      const costs = estimateCosts(tools)
      print(costs, () => formatCosts(costs, terminal))
    },
  }),

  call: createCommand({
    summary: 'Call a tool, as a client would.',
    description: [
      'Uses the running gateway of the configuration, or starts a temporary one.',
      'Pass arguments as a JSON object in --args, as KEY=VALUE after the tool name, or both.',
      'Exit codes: 0 the tool succeeded, 2 wrong usage, 4 the server did not start, 5 unknown tool,',
      '6 refused by a rule, 8 the tool or its server returned an error.',
    ],
    usage:
      'call TOOL [KEY=VALUE...] [--args <json>] [--as <caller>] [-c <file>] [--env <name>] [--set <key=value>...] [--fresh] [--socket <file>] [--json]',
    examples: [
      'gateway call files__read_file path=README.md',
      `gateway call memory__search_nodes --args '{"query": "gateway"}'`,
      'gateway call web__search --args - --json < arguments.json',
    ],
    takesRest: true,
    args: { tool: requiredArgument('Tool name, as clients see it.') },
    flags: {
      args: string({
        char: 'a',
        helpValue: '<json>',
        summary: 'Arguments as a JSON object; - reads them from stdin.',
      }),
      ...CALLER_FLAG,
      ...QUERY_FLAGS,
    },
    async run({ args, positionals: [, ...pairs], flags, terminal, host, print }) {
      const { callTool, getExitCode, readArguments, formatResult } = await import('../local/call.ts')
      const toolArguments = await readArguments({ json: flags.args, pairs, stdin: host.stdin })
      const result = await callTool(flags, args.tool, toolArguments, terminal)
      print(result, () => formatResult(result, terminal.out))
      return getExitCode(result)
    },
  }),

  explain: createCommand({
    summary: 'Explain how a call would be handled, without calling the tool.',
    description: [
      'Asks the running gateway of the configuration, or starts a temporary one: route, matching rules, cache,',
      'rate limits and final answer. Nothing is called or counted.',
      'Pass arguments as for gateway call: a JSON object in --args, KEY=VALUE after the tool name, or both.',
    ],
    usage:
      'explain TOOL [KEY=VALUE...] [--args <json>] [--as <caller>] [--scope <scope>...] [--client <name>] [--profile <name>] [-c <file>] [--env <name>] [--set <key=value>...] [--fresh] [--json]',
    examples: [
      'gateway explain files__read_file path=README.md',
      'gateway explain files__write_file --as key:ci --args \'{"path":"/etc/passwd"}\'',
      'gateway explain web__search --client cursor --json',
    ],
    takesRest: true,
    args: { tool: requiredArgument('Tool name, as clients see it.') },
    flags: {
      ...CALLER_FLAG,
      scope: string({
        helpValue: '<scope>',
        multiple: true,
        multipleNonGreedy: true,
        summary: 'Scope of the caller, instead of those of its key; repeatable.',
      }),
      client: string({ helpValue: '<name>', summary: 'Client program, such as cursor.' }),
      profile: string({ helpValue: '<name>', summary: 'Profile of the client.' }),
      args: string({
        helpValue: '<json>',
        summary: 'Arguments of the call as a JSON object; - reads them from stdin.',
      }),
      ...QUERY_FLAGS,
    },
    async run({ args, positionals: [, ...pairs], flags, terminal, host, print }) {
      const { explainTool, formatExplanation } = await import('../local/explain.ts')
      const { readArguments } = await import('../local/call.ts')
      const isGiven = flags.args !== undefined || pairs.length > 0
      const toolArguments = isGiven ? await readArguments({ json: flags.args, pairs, stdin: host.stdin }) : undefined
      const explanation = await explainTool(args.tool, toolArguments, flags, terminal)
      print(explanation, () => formatExplanation(explanation, terminal))
    },
  }),

  plan: createCommand({
    summary: 'Show what a configuration change would do, without applying it.',
    description: [
      'Compares with the running gateway, or with the current file: servers started, stopped and kept;',
      'tools added, removed, renamed and changed. Starts new servers temporarily. Exit codes: 0 no changes, 6 changes.',
    ],
    examples: ['gateway plan -c new.yaml', 'gateway plan -c new.yaml --against gateway.yaml --json'],
    flags: {
      against: string({
        helpValue: '<file>',
        summary: 'Current configuration. Default: that of the running gateway, or the nearest gateway.yaml.',
      }),
      ...FORMAT_FLAG,
      ...CONFIG_FLAGS,
      socket: CONTROL_FLAGS.socket,
    },
    async run({ flags, terminal, print }) {
      const { createPlan, createPlanFindings, formatPlan } = await import('../local/explain.ts')
      const plan = await createPlan(flags, terminal)
      const findings = () => createPlanFindings(plan, flags.config)
      print(plan, () => formatPlan(plan, terminal), findings)
      return plan.changes ? FINDINGS_EXIT_CODE : 0
    },
  }),

  doctor: createCommand({
    summary: 'Diagnose problems and fix the safe ones.',
    description: [
      'Checks the configuration, programs, plugins, file modes, client settings and the running gateway.',
      'gateway scan is the same command.',
      'Exit codes: 0 no problems, 6 warnings or errors.',
    ],
    examples: ['gateway doctor', 'gateway doctor --fix', 'gateway scan --online --format sarif'],
    flags: {
      online: booleanFlag({
        summary: 'Also ask each server for its lists; starts the servers if no gateway is running.',
      }),
      ...FORMAT_FLAG,
      fix: booleanFlag({ summary: 'Fix the modes of files that other users can read or write.' }),
      ...QUERY_FLAGS,
    },
    run: async ({ flags, terminal }) => (await import('../doctor/doctor.ts')).runDoctor(flags, terminal),
  }),

  errors: createCommand({
    summary: 'Explain error codes of the gateway and its plugins.',
    description: 'Includes the errors of the configured plugins. Exit codes: 0 found, 2 unknown code.',
    examples: ['gateway errors', 'gateway errors GW_UPSTREAM_START', 'gateway errors --json'],
    args: { code: optionalArgument('Show only this code.') },
    flags: CONFIG_FLAGS,
    async run({ args, flags, terminal, print }) {
      const { formatErrors, listErrors, findError } = await import('../local/errors.ts')
      const all = await listErrors(flags, terminal)
      const selected = args.code === undefined ? all : findError(args.code, all)
      print(selected, () => formatErrors(selected, terminal.out))
    },
  }),
}
