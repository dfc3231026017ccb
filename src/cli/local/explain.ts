import type { Explanation } from '../../gateway/explain.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { oneLine } from '../../util/plain-text.ts'
import { table, uncut } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { withAsked, type AskedGateway, type AskFlags } from './ask-gateway.ts'
import { argumentsFor, type GivenArguments } from './call.ts'
import { listAllTools } from './tools.ts'

/** Flags that say whose call it would be, and with what. */
interface ExplainFlags extends AskFlags {
  readonly as?: string | undefined
  readonly scope?: readonly string[] | undefined
  readonly client?: string | undefined
  readonly profile?: string | undefined
}

/** Explains the outcome of a call, step by step, from the gateway that runs or one of the command's own. */
export function explainTool(
  tool: string,
  given: GivenArguments | undefined,
  flags: ExplainFlags,
  terminal: Terminal,
): Promise<Explanation> {
  const { as, scope, client, profile } = flags
  const asked: JsonObject = {
    tool,
    ...(as === undefined ? {} : { as }),
    ...(scope === undefined ? {} : { scopes: scope }),
    ...(client === undefined ? {} : { client }),
    ...(profile === undefined ? {} : { profile }),
  }
  return withAsked(flags, terminal, async gateway => {
    const params = given === undefined ? asked : { ...asked, arguments: await typed(gateway, tool, given) }
    return (await gateway.control('explain', params)) as unknown as Explanation
  })
}

/** The arguments as `gateway call` sends them: its schema says which value is text. */
async function typed(gateway: AskedGateway, tool: string, given: GivenArguments): Promise<JsonObject> {
  if (given.pairs.length === 0) return given.whole
  const tools = await listAllTools(gateway)
  return argumentsFor(given, tools.find(({ name }) => name === tool)?.inputSchema)
}

const PAINT = {
  passes: 'dim',
  changes: 'cyan',
  answers: 'green',
  refuses: 'red',
  asks: 'yellow',
  depends: 'yellow',
} as const

/** The way as people read it: who, where to, each step, and the end. */
export function explanationLines(explanation: Explanation, { out }: Pick<Terminal, 'out'>): string[] {
  const { tool, caller, client, profile, upstream, original, outcome, steps } = explanation
  const scopes = caller.scopes.length === 0 ? '' : ` with ${caller.scopes.join(' ')}`
  const view = profile === undefined ? '' : `, profile ${profile}`
  const target = upstream === undefined ? '' : `→ ${upstream} ${original ?? ''}`
  const rows = steps.map(({ at, by, does, text, rule }) => [
    out.paint('dim', at),
    by,
    out.paint(PAINT[does], does),
    oneLine(rule === undefined ? text : `${text} (${rule})`),
  ])
  return [
    `${out.paint('bold', oneLine(tool))} ${oneLine(target)}`.trimEnd(),
    out.paint('dim', oneLine(`called by ${caller.subject}${scopes}, client ${client}${view}`)),
    ...table(rows, uncut(out)),
    `${out.paint(outcome.what === 'refused' ? 'red' : 'green', outcome.what)} by ${outcome.by}: ${oneLine(outcome.text)}`,
  ]
}
