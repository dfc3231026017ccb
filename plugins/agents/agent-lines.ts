import { stripVTControlCharacters } from 'node:util'
import {
  isObject,
  oneLine,
  type CommandCall,
  type CommandOutput,
  type JsonObject,
  objectsIn,
} from '../../src/plugin.ts'

type Printing = Pick<CommandCall, 'out' | 'table'>

const HEALTH = { ready: 'green', unknown: 'dim', needs_auth: 'yellow', unavailable: 'red' } as const

/** A cell without a value. */
const NOTHING = '-'
/** Columns that every terminal has room for; the others go below where they do not fit. */
const NARROW = 4
const BELOW = '    '

/** The agents as people read them: a line for each, and on a narrow terminal what does not fit below it. */
export function agentLines({ agents }: JsonObject, { out, table }: Printing): string[] {
  const rows = objectsIn(agents).map(row => cells(row, out))
  if (rows.length === 0) return ['no agents']
  const head = ['agent', 'health', 'running', 'waiting', 'capabilities', ''].map(text =>
    out.paint('dim', text),
  )
  const width = out.width ?? Infinity
  const wide = table([head, ...rows])
  if (wide.every(line => stripVTControlCharacters(line).length <= width)) return wide
  const [first = '', ...narrow] = table([head, ...rows].map(row => row.slice(0, NARROW)))
  return [first, ...narrow.flatMap((line, at) => [line, ...below(rows[at] ?? [], width)])]
}

function below(row: readonly string[], width: number): string[] {
  const texts = row.slice(NARROW).filter(text => text !== '' && text !== NOTHING)
  return texts.flatMap(text => wrapped(text, width - BELOW.length).map(line => BELOW + line))
}

/** A text in lines of at most so many characters, as far as its words allow. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

function cells(row: JsonObject, out: CommandOutput): string[] {
  const health = textOf(row.health)
  return [
    out.paint('bold', textOf(row.id)),
    out.paint(HEALTH[health as keyof typeof HEALTH], health),
    String(row.running),
    String(row.queued),
    (Array.isArray(row.capabilities) ? row.capabilities : []).map(textOf).join(', ') || NOTHING,
    [textOf(row.why), textOf(row.last_words)].filter(text => text !== '').join(': ') || factsText(row.facts),
  ]
}

function factsText(facts: unknown): string {
  if (!isObject(facts)) return ''
  const can = [
    facts.canResume === true ? 'resumes' : undefined,
    facts.canLoad === true ? 'loads' : undefined,
    facts.mcpHttp === true ? 'calls back' : undefined,
    typeof facts.ownMode === 'string' ? `in its own mode "${facts.ownMode}"` : undefined,
  ].filter(part => part !== undefined)
  return `${textOf(facts.name)} ${textOf(facts.version)}, protocol ${String(facts.protocol)}${can.length > 0 ? `, ${can.join(', ')}` : ''}`.trim()
}

/** True if all agents that were probed can be used. */
export function areReady({ agents }: JsonObject): boolean {
  return objectsIn(agents).every(({ health }) => health === 'ready')
}

/** Lines with the agents that would get a task; with `explain`, also why, and why the others would not. */
export function routeLines(
  { chosen, by, candidates }: JsonObject,
  explain: boolean,
  { out, table }: Printing,
): string[] {
  const names = (Array.isArray(chosen) ? chosen : []).map(textOf)
  if (!explain) return [names[0] ?? 'nobody']
  const first = names.length === 0 ? out.paint('red', 'nobody') : out.paint('bold', names.join(' → '))
  const rows = objectsIn(candidates).map(({ agent, why, fits }) => [
    fits === true ? out.paint('green', '✓') : out.paint('red', '✗'),
    textOf(agent),
    textOf(why),
  ])
  return [`${first} ${out.paint('dim', `by ${textOf(by)}`)}`, ...table(rows, 2)]
}

/** True if any agent could have the task. */
export function hasChosen({ chosen }: JsonObject): boolean {
  return Array.isArray(chosen) && chosen.length > 0
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? oneLine(value) : ''
}
