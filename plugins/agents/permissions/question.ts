import { isObject, type JsonObject } from '../../../src/plugin.ts'
import type { AgentToolCall } from '../types/agent.ts'
import { commandOf } from './rules.ts'

/** Characters that a reader does not see, or takes for something else: controls, formats, other line ends and blanks, unassigned. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu

/** Characters of each part that are shown, from both ends; together they stay readable. */
const MAX = { title: 300, command: 2000, path: 200, content: 500, input: 1000, line: 200 } as const

const MAX_PATHS = 10

const MAX_BLOCKS = 4

const ABOUT_FILES: ReadonlySet<string | undefined> = new Set(['read', 'edit', 'delete', 'move'])

/** The text without secrets. */
type Hide = (text: string) => string

/**
 * Words for a person who is asked to allow an action: what the call itself says of it – command, files, content, the rest of its
 * input –, then what it does not say. The title is the agent's own words, and only names the call.
 */
export function permissionQuestion(agent: string, call: AgentToolCall, hide: Hide): string {
  const { kind, title } = call
  // Some agents tell the command by the title alone.
  const max = kind === 'execute' && commandOf(call) === undefined ? MAX.command : MAX.title
  const missing = findMissing(call)
  return [
    `${agent} wants to ${kind ?? 'do something of no kind'}: ${showTitle(title, hide, max)}`,
    ...showFiles(call, hide),
    ...showInput(call, hide),
    ...showContent(call, hide),
    ...(missing.length === 0 ? [] : [`not told: ${missing.join('; ')}`]),
    'Allow it once?',
  ].join('\n')
}

/** The same call, for the log and for lists. */
export function callInOneLine(call: AgentToolCall, hide: Hide): string {
  const { kind, title, paths } = call
  const command = commandOf(call)
  return [
    `${kind ?? 'do something of no kind'}: ${showTitle(title, hide)}`,
    ...(command === undefined ? [] : [`command ${quote(command, MAX.line, hide)}`]),
    ...(paths.length === 0 ? [] : [`[${paths.map(path => quote(path, MAX.line, hide)).join(', ')}]`]),
  ].join(' ')
}

/** Plain words stand for themselves; all else is quoted, so that it cannot be taken for words of ours. */
function showTitle(title: string, hide: Hide, max: number = MAX.title): string {
  if (title === '') return 'without a title'
  return /^[\p{L}\p{N} ._/-]{1,300}$/u.test(title) ? hide(title) : quote(title, max, hide)
}

function showFiles({ paths }: AgentToolCall, hide: Hide): string[] {
  if (paths.length === 0) return []
  const shown = paths.slice(0, MAX_PATHS).map(path => quote(path, MAX.path, hide))
  const more = paths.length > MAX_PATHS ? ` and ${paths.length - MAX_PATHS} more` : ''
  return [`files: ${shown.join(', ')}${more}`]
}

function showInput({ rawInput = {} }: AgentToolCall, hide: Hide): string[] {
  const { command, ...rest } = rawInput
  return [
    ...(command === undefined ? [] : [`command: ${quote(command, MAX.command, hide)}`]),
    ...(Object.keys(rest).length === 0 ? [] : [`input: ${quote(rest, MAX.input, hide)}`]),
  ]
}

function showContent({ content }: AgentToolCall, hide: Hide): string[] {
  const left = content.length - MAX_BLOCKS
  const shown = content.slice(0, MAX_BLOCKS).flatMap(block => showBlock(block, hide))
  return left > 0 ? [...shown, `${left} more pieces of content are not shown`] : shown
}

function showBlock(block: JsonObject, hide: Hide): string[] {
  const { type, path, oldText, newText, content } = block
  if (type === 'diff') {
    const before = typeof oldText === 'string' ? [`in place of: ${quote(oldText, MAX.content, hide)}`] : []
    return [`writes to ${quote(path, MAX.path, hide)}: ${quote(newText, MAX.content, hide)}`, ...before]
  }
  const text = isObject(content) && typeof content.text === 'string' ? content.text : block
  return [`shows: ${quote(text, MAX.content, hide)}`]
}

/** Parts that a call of its kind would have to have. */
function findMissing(call: AgentToolCall): string[] {
  const { kind, rawInput, content, paths } = call
  const hasInput = rawInput !== undefined
  const missing: readonly [boolean, string][] = [
    [kind === undefined, 'which kind of action it is'],
    [kind === 'execute' && commandOf(call) === undefined, 'the command'],
    [ABOUT_FILES.has(kind) && paths.length === 0, 'which files'],
    [kind === 'edit' && !hasInput && !content.some(({ type }) => type === 'diff'), 'what it writes'],
    [!hasInput && content.length === 0, 'its input'],
  ]
  return missing.flatMap(([isMissing, what]) => (isMissing ? [what] : []))
}

/**
 * A value of an agent's as it is on the wire, in the notation of JSON, with everything invisible written out. Of more than
 * `max` characters both ends are shown, and how much is missing between them.
 */
function quote(value: unknown, max: number, hide: Hide): string {
  if (typeof value === 'string')
    return showEnds(hide(value), max, part => escapeInvisible(JSON.stringify(part)))
  const json = JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'string' ? hide(inner) : inner))
  return showEnds(json ?? 'nothing', max, escapeInvisible)
}

function showEnds(text: string, max: number, write: (part: string) => string): string {
  if (text.length <= max) return write(text)
  const tail = Math.floor(max / 3)
  const [first, last] = [text.slice(0, max - tail), text.slice(-tail)].map(part => write(part.toWellFormed()))
  return `${first} [… ${text.length - max} characters are not shown …] ${last}`
}

function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, character =>
    [...Array(character.length).keys()]
      .map(at => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
