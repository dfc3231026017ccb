import type { Explanation } from '../../gateway/explain.ts'
import type { KnownEntryRow } from '../../gateway/verb-answers.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { compileGlobs } from '../../util/globs.ts'
import { toOneLine, plural, sanitizeText } from '../../util/plain-text.ts'
import { findSimilar } from '../../util/suggest.ts'
import { estimateTokens } from '../../util/units.ts'
import { formatTable } from '../output/table.ts'
import type { Terminal, TerminalOutput } from '../output/terminal.ts'
import type { GatewayHandle, QueryFlags } from './gateway-handle.ts'
import { warnUnavailable, withGatewayHandle } from './gateway-handle.ts'
import { formatWarnings } from './validate.ts'

interface OwnedTool extends ToolEntry {
  readonly upstream: string | undefined
}

/** Lists the tools that match a pattern, as clients see them. */
export async function listTools(
  flags: QueryFlags,
  pattern: string | undefined,
  terminal: Terminal,
): Promise<OwnedTool[]> {
  return withGatewayHandle(flags, terminal, async gateway => {
    const tools = await listAllTools(gateway)
    const { upstreams, unmatched } = await gateway.inspect()
    const known = (await gateway.control('catalogue.list', { kind: 'tools' }))['entries'] as KnownEntryRow[]
    warnUnavailable(upstreams, terminal)
    for (const line of formatWarnings(unmatched, terminal)) terminal.err.line(line)
    const owners = new Map(known.map(row => [row.name, row.upstream]))
    const fits = compilePattern(pattern, [...tools, ...known])
    const fitted = tools.filter(tool => fits(tool.name))
    const hidden = fitted.length === 0 ? known.filter(row => fits(row.name)) : []
    if (hidden.length > 0) await printHiddenTools(hidden, gateway, flags.as, terminal)
    else if (pattern !== undefined && fitted.length === 0) printSuggestion(pattern, tools, terminal)
    return fitted.map(tool => ({ upstream: owners.get(tool.name), ...tool }))
  })
}

/** Prints one line for each server whose tools this caller cannot see. */
async function printHiddenTools(
  hidden: readonly KnownEntryRow[],
  gateway: GatewayHandle,
  as: string | undefined,
  { err }: Terminal,
): Promise<void> {
  for (const [upstream, rows] of Map.groupBy(hidden, row => row.upstream)) {
    const tool = String(rows[0]?.name)
    const refusal = await explainRefusal(gateway, tool, as)
    const reason = refusal === undefined ? '' : `: ${refusal.by} refuses ${tool} (${refusal.text})`
    const line = `${as ?? 'anonymous'} cannot see ${plural(rows.length, 'tool')} of ${upstream}${reason}`
    err.line(toOneLine(`${line}; see ${formatExplainCommand(tool, as)}`))
  }
}

/** Returns the outcome if a plugin refuses an existing tool to this caller. */
export async function explainRefusal(
  gateway: GatewayHandle,
  tool: string,
  as: string | undefined,
): Promise<Explanation['outcome'] | undefined> {
  const { outcome, steps } = (await gateway.control('explain', { tool, as })) as unknown as Explanation
  const exists = steps.some(({ at }) => at === 'listing')
  return exists && outcome.what === 'refused' && outcome.by !== 'core' ? outcome : undefined
}

export function formatExplainCommand(tool: string, as: string | undefined): string {
  return `gateway explain ${tool}${as === undefined ? '' : ` --as ${as}`}`
}

function printSuggestion(pattern: string, tools: readonly ToolEntry[], { err }: Terminal): void {
  const names = tools.map(({ name }) => toOneLine(name))
  const similar = findSimilar(pattern, names)
  const hint = similar === undefined ? '' : ` – did you mean "${similar}"?`
  err.line(err.paint('dim', `none of ${plural(names.length, 'tool')} matches ${JSON.stringify(pattern)}${hint}`))
}

export function formatTools(
  tools: readonly OwnedTool[],
  pattern: string | undefined,
  { out }: Pick<Terminal, 'out'>,
): string[] {
  const [first] = tools
  if (first === undefined) return [out.paint('dim', 'no tools')]
  if (first.name === pattern) return formatTool(first, out)
  const rows = tools.map(tool => [
    out.paint('bold', toOneLine(tool.name)),
    out.paint('cyan', tool.upstream ?? ''),
    toOneLine(tool.description ?? ''),
  ])
  return out.width === undefined
    ? formatTable(rows, out)
    : [...formatTable(rows, out), '', out.paint('dim', plural(tools.length, 'tool'))]
}

/** Formats one tool with its whole description and its arguments. */
function formatTool(
  { name, upstream = '', description = '', inputSchema = {} }: OwnedTool,
  out: TerminalOutput,
): string[] {
  const rows = listParameters(inputSchema).map(parameter => [
    out.paint('bold', toOneLine(parameter.name)),
    out.paint('cyan', parameter.type),
    out.paint('dim', parameter.isRequired ? 'required' : 'optional'),
    toOneLine(parameter.description),
  ])
  return [
    `${out.paint('bold', toOneLine(name))}  ${out.paint('cyan', upstream)}`,
    ...(description === '' ? [] : ['', sanitizeText(description)]),
    '',
    ...(rows.length === 0 ? [out.paint('dim', 'no arguments')] : formatTable(rows, out, 2)),
  ]
}

/** Argument that a tool's schema names. */
export interface ToolParameter {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
}

/** Lists a tool's arguments, the required ones first. */
export function listParameters({ properties, required }: JsonObject): ToolParameter[] {
  const requiredNames: readonly unknown[] = Array.isArray(required) ? required : []
  return Object.entries(isObject(properties) ? properties : {})
    .map(([name, property]) => {
      const { type, enum: options, description } = isObject(property) ? property : {}
      const values = Array.isArray(options) ? options.join('|') : undefined
      return {
        name,
        type: values ?? [type ?? 'value'].flat().join('|'),
        isRequired: requiredNames.includes(name),
        description: typeof description === 'string' ? description : '',
      }
    })
    .sort((one, other) => Number(other.isRequired) - Number(one.isRequired))
}

/** Estimates tokens per tool, largest first, with totals. */
export function estimateCosts(tools: readonly OwnedTool[]) {
  const costed = tools.map(addTokens).sort((one, other) => other.tokens - one.tokens)
  return { tools: costed, tokens: sumTokens(costed) }
}

export function formatCosts({ tools, tokens }: ReturnType<typeof estimateCosts>, { out }: Terminal): string[] {
  if (tools.length === 0) return [out.paint('dim', 'no tools')]
  const rows = tools.map(tool => [
    String(tool.tokens),
    out.paint('bold', toOneLine(tool.name)),
    out.paint('cyan', tool.upstream ?? ''),
  ])
  return [...formatTable(rows, out), '', ...formatSums(tokens)]
}

// A pattern without wildcards matches one whole name, else anywhere in the name.
function compilePattern(
  pattern: string | undefined,
  tools: readonly { readonly name: string }[],
): (name: string) => boolean {
  if (pattern === undefined) return () => true
  if (tools.some(({ name }) => name === pattern)) return name => name === pattern
  return /[*?[{]/.test(pattern) ? compileGlobs(pattern) : name => name.includes(pattern)
}

/** Tool as clients see it. */
export interface ToolEntry extends JsonObject {
  readonly name: string
  readonly description?: string
  readonly inputSchema?: JsonObject
}

/** Lists all `tools/list` pages. */
export async function listAllTools(connection: Pick<GatewayHandle, 'request'>): Promise<ToolEntry[]> {
  const tools: ToolEntry[] = []
  let cursor: unknown
  do {
    const page = await connection.request('tools/list', cursor === undefined ? {} : { cursor: String(cursor) })
    tools.push(...(page['tools'] as ToolEntry[]))
    cursor = page['nextCursor']
  } while (cursor !== undefined)
  return tools
}

interface ToolCost {
  readonly upstream: string | undefined
  readonly tokens: number
}

/** Token totals by upstream, largest first. */
interface TokenSums {
  readonly total: number
  readonly upstreams: Readonly<Record<string, { readonly tools: number; readonly tokens: number }>>
}

/** Adds a tool's estimated tokens. */
function addTokens<T extends JsonObject & { readonly upstream: string | undefined }>(tool: T): T & ToolCost {
  const { upstream: _, ...listedTool } = tool
  return { ...tool, tokens: estimateTokens(JSON.stringify(listedTool)) }
}

function sumTokens(tools: readonly ToolCost[]): TokenSums {
  const groups = [...Map.groupBy(tools, ({ upstream }) => upstream ?? '')]
    .map(([name, own]) => [name, { tools: own.length, tokens: sumAll(own) }] as const)
    .sort(([, one], [, other]) => other.tokens - one.tokens)
  return { total: sumAll(tools), upstreams: Object.fromEntries(groups) }
}

function formatSums({ total, upstreams }: TokenSums): string[] {
  const rows = Object.entries(upstreams).map(
    ([name, { tools, tokens }]) => `${name}: ${plural(tools, 'tool')}, ${plural(tokens, 'token')}`,
  )
  return [...rows, `all: ${plural(total, 'token')} (estimated)`]
}

function sumAll(tools: readonly ToolCost[]): number {
  return tools.reduce((all, { tokens }) => all + tokens, 0)
}
