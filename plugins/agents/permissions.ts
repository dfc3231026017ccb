import { resolve } from 'node:path'
import { compileGlobs, escapeInvisible } from '../../src/plugin.ts'
import { isWithin, resolveRealPath } from './allowed-paths.ts'
import type { AgentToolCall, PermissionVerdict } from './types.ts'
import type { PermissionPolicy } from './settings.ts'

/** Character limits per part; longer parts show both ends. */
const MAX = { title: 300, command: 2000, files: 2000, content: 2000, input: 1000, line: 200 } as const

const ABOUT_FILES: ReadonlySet<string | undefined> = new Set(['read', 'edit', 'delete', 'move'])

type SecretRedactor = (text: string) => string

/**
 * Describes an action for approval: command, files, content and other input from the call, then missing parts. The
 * title is the agent's own text and only labels the call.
 */
export function formatPermissionQuestion(agent: string, call: AgentToolCall, hide: SecretRedactor): string {
  const { kind, title, paths, content, rawInput = {} } = call
  const { command, ...input } = rawInput
  // Some agents put the command only into the title.
  const max = kind === 'execute' && readCommand(call) === undefined ? MAX.command : MAX.title
  const missing = findMissing(call)
  const lines: readonly (string | false)[] = [
    `${agent} wants to ${kind ?? 'run an action of unknown kind'}: ${showTitle(title, hide, max)}`,
    paths.length > 0 && `files: ${quote(paths, MAX.files, hide)}`,
    command !== undefined && `command: ${quote(command, MAX.command, hide)}`,
    Object.keys(input).length > 0 && `input: ${quote(input, MAX.input, hide)}`,
    content.length > 0 && `content: ${quote(content, MAX.content, hide)}`,
    missing.length > 0 && `not specified: ${missing.join('; ')}`,
    'Allow it once?',
  ]
  return lines.filter(line => line !== false).join('\n')
}

/** Formats the call on one line for logs and lists. */
export function formatCallLine(call: AgentToolCall, hide: SecretRedactor): string {
  const { kind, title, paths } = call
  const command = readCommand(call)
  return [
    `${kind ?? 'action of unknown kind'}: ${showTitle(title, hide)}`,
    ...(command === undefined ? [] : [`command ${quote(command, MAX.line, hide)}`]),
    ...(paths.length === 0 ? [] : [`[${paths.map(path => quote(path, MAX.line, hide)).join(', ')}]`]),
  ].join(' ')
}

/** Quotes titles with unusual characters, so that they cannot be mistaken for the gateway's text. */
function showTitle(title: string, hide: SecretRedactor, max: number = MAX.title): string {
  if (title === '') return 'without a title'
  return /^[\p{L}\p{N} ._/-]{1,300}$/u.test(title) ? hide(title) : quote(title, max, hide)
}

/** Lists parts that a call with this kind should have. */
function findMissing(call: AgentToolCall): string[] {
  const { kind, rawInput, content, paths } = call
  const hasInput = rawInput !== undefined
  const missing: readonly [boolean, string][] = [
    [kind === undefined, 'the kind of action'],
    [kind === 'execute' && readCommand(call) === undefined, 'the command'],
    [ABOUT_FILES.has(kind) && paths.length === 0, 'which files'],
    [kind === 'edit' && !hasInput && !content.some(({ type }) => type === 'diff'), 'the content to write'],
    [!hasInput && content.length === 0, 'its input'],
  ]
  return missing.flatMap(([isMissing, label]) => (isMissing ? [label] : []))
}

/**
 * Quotes an agent's value as JSON with invisible characters escaped. Beyond `max` characters, shows both ends and the
 * omitted length.
 */
function quote(value: unknown, max: number, hide: SecretRedactor): string {
  if (typeof value === 'string') return showEnds(hide(value), max, part => escapeInvisible(JSON.stringify(part)))
  const json = JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'string' ? hide(inner) : inner))
  return showEnds(json ?? 'nothing', max, escapeInvisible)
}

function showEnds(text: string, max: number, write: (part: string) => string): string {
  if (text.length <= max) return write(text)
  const tail = Math.floor(max / 3)
  const [first, last] = [text.slice(0, max - tail), text.slice(-tail)].map(part => write(part.toWellFormed()))
  return `${first} [… ${text.length - max} characters omitted …] ${last}`
}

type PermissionRule = PermissionPolicy['rules'][number]

/** Rule match result; `unknown` if the call lacks the information. */
type MatchResult = 'yes' | 'no' | 'unknown'

interface PermissionScope {
  /** Task directory as a real path; base for relative paths in calls. */
  readonly cwd: string
  /** Configuration directory; base for relative paths in rules. */
  readonly directory: string
}

/** A shell invoked with a single text, at a well-known path. */
const SHELL = /^(\/(usr\/)?bin\/)?(ba|z|da|k)?sh$/

/** Call kinds that need no file. */
const WITHOUT_FILES: ReadonlySet<string | undefined> = new Set(['think', 'fetch', 'switch_mode'])

/**
 * Returns the first matching rule's verdict: `rule 2` (1-based) or `default`. If a deny or ask rule cannot be
 * evaluated, later rules cannot allow the call; it asks instead.
 */
export function decidePermission(
  policy: PermissionPolicy,
  call: AgentToolCall,
  site: PermissionScope,
): PermissionVerdict {
  let unsure: string | undefined
  for (const [index, rule] of policy.rules.entries()) {
    const by = `rule ${index + 1}`
    const fit = matchRule(rule, call, site)
    if (fit === 'yes') return applyUncertainty({ do: rule.do, by }, unsure)
    if (fit === 'unknown' && rule.do !== 'allow') unsure ??= by
  }
  return applyUncertainty({ do: policy.default, by: 'default' }, unsure)
}

function applyUncertainty(verdict: PermissionVerdict, unsure: string | undefined): PermissionVerdict {
  if (verdict.do !== 'allow' || unsure === undefined) return verdict
  return { do: 'ask', by: `${unsure} (cannot be evaluated: the call lacks information)` }
}

function matchRule(rule: PermissionRule, call: AgentToolCall, site: PermissionScope): MatchResult {
  const fits = [matchKind(rule, call), matchTitle(rule, call), matchCommand(rule, call), matchFiles(rule, call, site)]
  return fits.includes('no') ? 'no' : fits.includes('unknown') ? 'unknown' : 'yes'
}

function matchKind({ kinds, do: verdict }: PermissionRule, call: AgentToolCall): MatchResult {
  if (kinds === undefined) return 'yes'
  // A call with a command counts as `execute`, whatever its kind.
  if (verdict !== 'allow' && kinds.includes('execute') && readCommand(call) !== undefined) return 'yes'
  if (call.kind === undefined) return 'unknown'
  return kinds.includes(call.kind) ? 'yes' : 'no'
}

function matchTitle({ titles }: PermissionRule, { title }: AgentToolCall): MatchResult {
  if (titles === undefined || compileGlobs(titles)(title)) return 'yes'
  return title === '' ? 'unknown' : 'no'
}

function matchCommand({ commands, do: verdict }: PermissionRule, call: AgentToolCall): MatchResult {
  if (commands === undefined) return 'yes'
  const line = readCommand(call)
  if (line === undefined) return mayHideCommand(call) ? 'unknown' : 'no'
  if (verdict === 'allow') return commands.some(pattern => isAllowedLine(line, pattern)) ? 'yes' : 'no'
  const matches = compileGlobs(commands)
  return [line, ...splitCommands(line)].some(matches) ? 'yes' : 'no'
}

/** True if a call without a command may still execute one. */
function mayHideCommand({ kind, rawInput }: AgentToolCall): boolean {
  return kind === undefined || kind === 'execute' || (kind === 'other' && rawInput === undefined)
}

/** For allow rules, `*` does not match shell operators. */
function isAllowedLine(line: string, pattern: string): boolean {
  const operators = (text: string): string => text.replace(/[^;&|<>()`$\n\r\\]/g, '')
  return compileGlobs(pattern)(line) && operators(line) === operators(pattern)
}

/** Splits a command line at shell operators. */
function splitCommands(line: string): string[] {
  return line.split(/[;&|<>()`$\n\r]+/).map(part => part.trim())
}

/** To allow, all files must match; to deny, one is enough. */
function matchFiles(rule: PermissionRule, call: AgentToolCall, site: PermissionScope): MatchResult {
  if (rule.within === undefined) return 'yes'
  const inside = locateFiles(rule.within, call, site)
  const isTold = inside.length > 0 && !inside.includes(undefined) && !isOpaque(rule, call)
  if (rule.do === 'allow') return isTold && !inside.includes(false) ? 'yes' : 'no'
  if (inside.includes(true)) return 'yes'
  return isTold || needsNoFile(call) ? 'no' : 'unknown'
}

function needsNoFile({ kind, paths }: AgentToolCall): boolean {
  return paths.length === 0 && WITHOUT_FILES.has(kind)
}

function locateFiles(within: string, { paths }: AgentToolCall, { cwd, directory }: PermissionScope) {
  const base = within === 'cwd' ? cwd : resolveRealPath(resolve(directory, within))
  return paths.map(path => isInside(base, path, cwd))
}

/** True if the call runs a command that the rule does not restrict, so it may touch any file. */
function isOpaque({ commands }: PermissionRule, call: AgentToolCall): boolean {
  return commands === undefined && (call.kind === 'execute' || readCommand(call) !== undefined)
}

/** Returns whether a path is inside a directory; undefined if unknown, for example `..` after a link. */
function isInside(base: string, path: string, cwd: string): boolean | undefined {
  if (path === '' || path.includes('\0') || path.startsWith('~') || path.split('/').includes('..')) return undefined
  return isWithin(base, resolveRealPath(resolve(cwd, path)))
}

/** Returns the call's command line; unwraps `sh -c`. */
export function readCommand({ rawInput = {} }: AgentToolCall): string | undefined {
  const { command, args } = rawInput
  const argv = typeof command === 'string' ? [command.trim()] : isStringList(command) ? command : []
  const line = unwrapShell(typeof command === 'string' && isStringList(args) ? [...argv, ...args] : argv)
  return line === '' ? undefined : line
}

function unwrapShell(argv: readonly string[]): string {
  const [program = '', flag = '', script = ''] = argv
  return argv.length === 3 && SHELL.test(program) && /^-[a-z]*c$/.test(flag) ? script : argv.join(' ')
}

function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string')
}
