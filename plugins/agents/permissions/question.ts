import { isObject, type JsonObject } from '../../../src/plugin.ts'
import type { AgentToolCall } from '../types/agent.ts'
import { announcedInput, announcedInputs, COMMAND_KEYS, commandLinesOf, pathsOf } from './rules.ts'

/** Characters that a reader does not see, or takes for something else: controls, formats, other line ends and blanks, unassigned. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu

/** Characters of each part that are shown, from both ends; together they stay readable. */
const MAX = { title: 300, command: 2000, path: 200, content: 500, input: 1000 } as const

const MAX_PATHS = 10

const MAX_BLOCKS = 4

/** Parts of one line in the log. */
const MAX_LINE = 200

/**
 * Words for a person who is asked to allow an action: what the call itself says of it – command, files, content, the rest of its
 * input, and what it was announced with –, then what it does not say. The title is the agent's own words, and only names the call.
 */
export function permissionQuestion(agent: string, call: AgentToolCall, hide: Hide): string {
  const { kind, title } = call
  // Some agents tell the command by the title alone.
  const max = kind === 'execute' && !isCommandTold(call) ? MAX.command : MAX.title
  const name = `${agent} wants to ${kind ?? 'do something of no kind'}: ${titleOf(title, hide, max)}`
  const missing = missingIn(call)
  return [
    name,
    ...commandsIn(call, hide),
    ...filesIn(call, hide),
    ...contentIn(call, hide),
    ...inputIn(call, hide),
    ...announcedIn(call, hide),
    ...(missing.length === 0 ? [] : [`not told: ${missing.join('; ')}`]),
    'Allow it once?',
  ].join('\n')
}

/** The same call, for the log and for lists. */
export function callInOneLine(call: AgentToolCall, hide: Hide): string {
  const { kind, title, paths } = call
  const [command] = toldOf(call).flatMap(commandLinesOf)
  const what = command === undefined ? [] : [`command ${quoted(command, MAX_LINE, hide)}`]
  const where = paths.length === 0 ? [] : [`[${paths.map(path => quoted(path, MAX_LINE, hide)).join(', ')}]`]
  return [`${kind ?? 'do something of no kind'}: ${titleOf(title, hide)}`, ...what, ...where].join(' ')
}

/** Plain words stand for themselves; all else is quoted, so that it cannot be taken for words of ours. */
function titleOf(title: string, hide: Hide, max: number = MAX.title): string {
  if (title === '') return 'without a title'
  return /^[\p{L}\p{N} ._/-]{1,300}$/u.test(title) ? hide(title) : quoted(title, max, hide)
}

function commandsIn({ rawInput }: AgentToolCall, hide: Hide): string[] {
  if (rawInput === undefined) return []
  const keys = COMMAND_KEYS.filter(key => rawInput[key] !== undefined)
  const args = keys.length > 0 && rawInput.args !== undefined ? (['args'] as const) : []
  return [...keys, ...args].map(key => `${key}: ${quoted(rawInput[key], MAX.command, hide)}`)
}

function filesIn({ paths }: AgentToolCall, hide: Hide): string[] {
  if (paths.length === 0) return []
  const shown = paths.slice(0, MAX_PATHS).map(path => quoted(path, MAX.path, hide))
  const more = paths.length > MAX_PATHS ? ` and ${paths.length - MAX_PATHS} more` : ''
  return [`files: ${shown.join(', ')}${more}`]
}

function contentIn({ content }: AgentToolCall, hide: Hide): string[] {
  const shown = content.slice(0, MAX_BLOCKS).flatMap(block => blockIn(block, hide))
  const left = content.length - MAX_BLOCKS
  return left > 0 ? [...shown, `${left} more pieces of content are not shown`] : shown
}

function blockIn(block: JsonObject, hide: Hide): string[] {
  const { type, path, oldText, newText, content } = block
  if (type === 'diff') {
    const before = typeof oldText === 'string' ? [`in place of: ${quoted(oldText, MAX.content, hide)}`] : []
    return [`writes to ${quoted(path, MAX.path, hide)}: ${quoted(newText, MAX.content, hide)}`, ...before]
  }
  if (isObject(content) && typeof content.text === 'string')
    return [`shows: ${quoted(content.text, MAX.content, hide)}`]
  return [`shows: ${quoted(block, MAX.content, hide)}`]
}

/** The members that no other line shows. */
function inputIn({ rawInput }: AgentToolCall, hide: Hide): string[] {
  const rest = Object.entries(rawInput ?? {}).filter(([key]) => !SHOWN.has(key))
  return rest.length === 0 ? [] : [`input: ${quoted(Object.fromEntries(rest), MAX.input, hide)}`]
}

const SHOWN: ReadonlySet<string> = new Set([...COMMAND_KEYS])

/** The rest of what the agent has said of the call, which what it asks with has taken the place of. */
function announcedIn({ announced = [] }: AgentToolCall, hide: Hide): string[] {
  const shown = announced.slice(0, MAX_BLOCKS).flatMap(block => {
    const input = announcedInput(block)
    if (input !== undefined) return [`announced: ${quoted(input, MAX.command, hide)}`]
    return blockIn(block, hide).map(line => line.replace(/^shows: /, 'announced: '))
  })
  const left = announced.length - MAX_BLOCKS
  return left > 0 ? [...shown, `${left} more pieces of what was announced are not shown`] : shown
}

/** The call as each input tells it: the one that it asks with, and those that it was announced with. */
function toldOf(call: AgentToolCall): AgentToolCall[] {
  return [call, ...announcedInputs(call).map(rawInput => ({ ...call, rawInput }))]
}

function isCommandTold(call: AgentToolCall): boolean {
  return toldOf(call).some(told => commandLinesOf(told).length > 0)
}

const ABOUT_FILES: ReadonlySet<string | undefined> = new Set(['read', 'edit', 'delete', 'move'])

/** Parts that a call of its kind would have to have, and those that were too much to be taken. */
function missingIn(call: AgentToolCall): string[] {
  const { kind, rawInput, content, unseen = {} } = call
  const hasInput = rawInput !== undefined || unseen.input !== undefined || announcedInputs(call).length > 0
  const isBlind = !hasInput && content.length === 0
  const missing: readonly [boolean, string][] = [
    [kind === undefined, 'which kind of action it is'],
    [kind === 'execute' && !isCommandTold(call), 'the command'],
    [ABOUT_FILES.has(kind) && !isFileTold(call), 'which files'],
    [kind === 'edit' && !hasInput && !content.some(({ type }) => type === 'diff'), 'what it writes'],
    [isBlind, 'its input'],
  ]
  return [...missing.flatMap(([isMissing, what]) => (isMissing ? [what] : [])), ...Object.values(unseen)]
}

function isFileTold(call: AgentToolCall): boolean {
  return call.paths.length > 0 || announcedInputs(call).some(rawInput => hasPaths({ ...call, rawInput }))
}

function hasPaths(call: AgentToolCall): boolean {
  return pathsOf(call)?.length !== 0
}

/** The text without secrets. */
type Hide = (text: string) => string

/**
 * A value of an agent's as it is on the wire, in the notation of JSON, with everything invisible written out. Of more than
 * `max` characters both ends are shown, and how much is missing between them.
 */
function quoted(value: unknown, max: number, hide: Hide): string {
  if (typeof value === 'string') return ends(hide(value), max, part => visible(JSON.stringify(part)))
  const json = JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'string' ? hide(inner) : inner))
  return ends(json ?? 'nothing', max, visible)
}

function ends(text: string, max: number, write: (part: string) => string): string {
  if (text.length <= max) return write(text)
  const tail = Math.floor(max / 3)
  const head = max - tail
  const [first, last] = [text.slice(0, head), text.slice(-tail)].map(part => write(part.toWellFormed()))
  return `${first} [… ${text.length - max} characters are not shown …] ${last}`
}

function visible(text: string): string {
  return text.replace(INVISIBLE, character =>
    [...Array(character.length).keys()].map(at => escaped(character.charCodeAt(at))).join(''),
  )
}

function escaped(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`
}
