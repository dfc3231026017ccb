import type { Explanation } from '../../gateway/explain.ts'
import { gatewayError } from '../../errors/errors.ts'
import { isObject, type JsonObject } from '../../protocol/json/json.ts'
import { oneLine } from '../../util/plain-text.ts'
import { table, uncut } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { withAsked, type AskFlags } from './ask-gateway.ts'

/** Flags that say whose call it would be, and with what. */
interface ExplainFlags extends AskFlags {
  readonly as?: string | undefined
  readonly scope?: readonly string[] | undefined
  readonly client?: string | undefined
  readonly profile?: string | undefined
  readonly args?: string | undefined
}

/** Explains the outcome of a call, step by step, from the gateway that runs or one of the command's own. */
export function explainTool(tool: string, flags: ExplainFlags, terminal: Terminal): Promise<Explanation> {
  const { as, scope, client, profile, args } = flags
  const asked: JsonObject = {
    tool,
    ...(as === undefined ? {} : { as }),
    ...(scope === undefined ? {} : { scopes: scope }),
    ...(client === undefined ? {} : { client }),
    ...(profile === undefined ? {} : { profile }),
    ...(args === undefined ? {} : { arguments: argumentsIn(args) }),
  }
  return withAsked(
    flags,
    terminal,
    async gateway => (await gateway.control('explain', asked)) as unknown as Explanation,
  )
}

function argumentsIn(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (isObject(value)) return value
  throw gatewayError('GW_USAGE', { what: '--args must be a JSON object, such as \'{"path":"/tmp"}\'' })
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
