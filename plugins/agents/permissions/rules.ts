import path from 'node:path'
import { globs, isObject, type JsonObject } from '../../../src/plugin.ts'
import type { AgentToolCall, PermissionOutcome, PermissionRequest } from '../types/agent.ts'
import type { PermissionPolicy } from '../types/settings.ts'
import { lookUp, isWithin } from '../sandbox/paths.ts'

const MAX_DEPTH = 6

const MAX_PATHS = 256

const MAX_COMMANDS = 256

/** Members of a tool call's input that name a file, in the spellings of the agents there are. */
const PATH_KEYS =
  /^(abs(olute)?_?path|(file|dir|folder|notebook|old|new|source|target|dest(ination)?|from|to)_?(path|file)?|(file_?|dir_?)?paths?|file_?names?|file|files|cwd|director(y|ies)|work(ing)?_?dir(ectory)?|uri|src|dst|root)$/i

/** Members whose text is written somewhere, or read by somebody. */
const CONTENT_KEYS =
  /^(contents?|text|(old|new)_?(string|str|text|source)|file_?text|insert_?text|patch|diff|unified_diff|prompt|description|query|pattern|regex|thought)$/i

export const COMMAND_KEYS = ['command', 'cmd', 'command_line', 'commandLine', 'script'] as const

/** A shell that is asked to run one text, by a name that is surely the shell. */
const SHELL = /^(\/(usr\/)?bin\/)?(ba|z|da|k)?sh$/

const SHELL_FLAGS = /^-[a-z]*c$/

type Verdict = 'allow' | 'deny' | 'ask'

type Rule = PermissionPolicy['rules'][number]

/** Decision about a request, and the rule that made it: `rule 2`, counted from 1, or `default`. */
interface Decision {
  readonly do: Verdict
  readonly rule: string
}

/** Directory that a request is made in. */
interface PermissionSite {
  /** The real path of the directory of the task; what is relative in a request is so to it. */
  readonly cwd: string
  /** Directory of the configuration; what is relative in a rule is so to it. */
  readonly directory: string
}

/** Characters that shells read as more than words; where a rule allows, its `*` never stands for one of these. */
const OPERATORS = /[^;&|<>()`$\n\r\\]/g

/** Matches a rule with a call; `unknown` where the call does not tell what the rule asks about. */
type Fit = 'yes' | 'no' | 'unknown'

/**
 * The first rule that fits decides. `request.call` is merged with what the agent announced of it before. Where a call
 * does not tell what a rule that denies or asks looks for, nothing behind that rule allows it: it is asked.
 */
export async function decide(
  policy: PermissionPolicy,
  request: PermissionRequest,
  site: PermissionSite,
): Promise<Decision> {
  let unsure: string | undefined
  for (const [index, rule] of policy.rules.entries()) {
    const name = `rule ${index + 1}`
    const fit = await fitOf(rule, request.call, site)
    if (fit === 'yes') return unlessUnsure({ do: rule.do, rule: name }, unsure)
    if (fit === 'unknown' && rule.do !== 'allow') unsure ??= name
  }
  return unlessUnsure({ do: policy.default, rule: 'default' }, unsure)
}

function unlessUnsure(decision: Decision, unsure: string | undefined): Decision {
  if (decision.do !== 'allow' || unsure === undefined) return decision
  return { do: 'ask', rule: `${unsure} (the call does not tell what it looks for)` }
}

const CHOICES = { allow: ['allow_once'], deny: ['reject_once', 'reject_always'] } as const

/** The option for a verdict, by what its kind says; never one for always allowing, and `cancelled` where none is offered. */
export function choose(options: PermissionRequest['options'], verdict: 'allow' | 'deny'): PermissionOutcome {
  for (const kind of CHOICES[verdict]) {
    const option = options.find(offered => offered.kind === kind)
    if (option !== undefined) return { optionId: option.optionId }
  }
  return 'cancelled'
}

/** Fit of a rule. What the call was announced with may refuse it, and never allows it: it may be words of the model. */
async function fitOf(rule: Rule, call: AgentToolCall, site: PermissionSite): Promise<Fit> {
  const fit = await fitAsTold(rule, call, site)
  if (fit === 'yes' || rule.do === 'allow') return fit
  for (const rawInput of announcedInputs(call))
    if ((await fitAsTold(rule, { ...call, rawInput }, site)) === 'yes') return 'yes'
  return fit
}

async function fitAsTold(rule: Rule, call: AgentToolCall, site: PermissionSite): Promise<Fit> {
  const fits = [fitKinds(rule, call), fitTitles(rule, call), fitCommands(rule, call)]
  if (!fits.includes('no')) fits.push(await fitWithin(rule, call, site))
  return fits.includes('no') ? 'no' : fits.includes('unknown') ? 'unknown' : 'yes'
}

function fitKinds({ kinds, do: verdict }: Rule, call: AgentToolCall): Fit {
  if (kinds === undefined) return 'yes'
  if (call.kind !== undefined && kinds.includes(call.kind)) return 'yes'
  // Whatever it is called: a call with a command executes it.
  if (verdict !== 'allow' && kinds.includes('execute') && commandLinesOf(call).length > 0) return 'yes'
  return call.kind === undefined ? 'unknown' : 'no'
}

function fitTitles({ titles }: Rule, { title, unseen }: AgentToolCall): Fit {
  if (titles === undefined || globs(titles)(title)) return 'yes'
  return title === '' || unseen?.title !== undefined ? 'unknown' : 'no'
}

function fitCommands({ commands, do: verdict }: Rule, call: AgentToolCall): Fit {
  if (commands === undefined) return 'yes'
  const lines = commandLinesOf(call).map(line => line.trim())
  if (lines.length === 0) return mayHideCommand(call) ? 'unknown' : 'no'
  // An input that names several is allowed only when each one is, and refused when any part of any is.
  if (verdict === 'allow') return lines.every(line => isAllowedLine(line, commands)) ? 'yes' : 'no'
  const matches = globs(commands)
  if (lines.some(line => matches(line) || commandsIn(line).some(matches))) return 'yes'
  return call.unseen?.input === undefined ? 'no' : 'unknown'
}

/** True if a call that names no command may be one all the same. */
function mayHideCommand({ kind, rawInput }: AgentToolCall): boolean {
  return kind === undefined || kind === 'execute' || (kind === 'other' && rawInput === undefined)
}

function isAllowedLine(line: string, commands: readonly string[]): boolean {
  return commands.some(pattern => globs(pattern)(line) && operatorsOf(line) === operatorsOf(pattern))
}

/** Commands between the operators of a shell, each by itself. */
function commandsIn(line: string): string[] {
  return line
    .split(/[;&|<>()`$\n\r]+/)
    .map(part => part.trim())
    .filter(part => part !== '')
}

function operatorsOf(line: string): string {
  return line.replace(OPERATORS, '')
}

/** Kinds of calls that need name no file. */
const WITHOUT_FILES: ReadonlySet<string | undefined> = new Set(['think', 'fetch', 'switch_mode'])

async function fitWithin(rule: Rule, call: AgentToolCall, site: PermissionSite): Promise<Fit> {
  if (rule.within === undefined) return 'yes'
  const inside = await areWithin(rule.within, call, site)
  const isTold = inside.length > 0 && !inside.includes(undefined) && !isOpaque(rule, call)
  // All files must be inside to be allowed, and any one that is inside is enough to be refused.
  if (rule.do === 'allow') return isTold && !inside.includes(false) ? 'yes' : 'no'
  if (inside.includes(true)) return 'yes'
  return isTold && call.unseen === undefined ? 'no' : fitWithoutFiles(call, inside.length)
}

function fitWithoutFiles({ kind }: AgentToolCall, files: number): Fit {
  return files === 0 && WITHOUT_FILES.has(kind) ? 'no' : 'unknown'
}

/** Of each file that a call names whether it is in a directory; undefined where that cannot be known. */
async function areWithin(
  within: string,
  call: AgentToolCall,
  { cwd, directory }: PermissionSite,
): Promise<(boolean | undefined)[]> {
  const base = within === 'cwd' ? cwd : await realOf(path.resolve(directory, within), directory)
  const paths = pathsOf(call)
  if (base === undefined || paths === undefined) return [undefined]
  const reals = await Promise.all(paths.map(file => realOf(file, cwd)))
  return reals.map(real => (real === undefined ? undefined : isWithin(base, real)))
}

/** True for a call whose command may touch anything, as the rule does not know the command. */
function isOpaque({ commands }: Rule, call: AgentToolCall): boolean {
  return commands === undefined && (call.kind === 'execute' || commandLinesOf(call).length > 0)
}

/** Real path of a file that is there, or could be made; undefined when that cannot be known. */
async function realOf(file: string, cwd: string): Promise<string | undefined> {
  if (file === '' || file.includes('\0') || file.startsWith('~') || file.length > 4096) return undefined
  const lookup = await lookUp(file.startsWith('/') ? file : `${cwd}/${file}`, () => true)
  const isNamed = lookup.is === 'found' || (lookup.is === 'missing' && lookup.names.length > 0)
  return isNamed ? lookup.real : undefined
}

/** Inputs that a call was announced with, as JSON in its content: some agents ask without them. */
export function announcedInputs({ announced = [] }: AgentToolCall): JsonObject[] {
  return announced.map(announcedInput).filter(input => input !== undefined)
}

/** Input in a block of content; undefined for other words. */
export function announcedInput({ content }: JsonObject): JsonObject | undefined {
  if (!isObject(content) || typeof content.text !== 'string' || !content.text.startsWith('{'))
    return undefined
  try {
    const input: unknown = JSON.parse(content.text)
    return isObject(input) ? input : undefined
  } catch {
    return undefined
  }
}

/** Every command line that the input of a tool call names, however deep. A list that only wraps a text in a shell is that text. */
export function commandLinesOf({ rawInput }: AgentToolCall): string[] {
  const lines: string[] = []
  collectCommands(rawInput, lines, 0)
  return lines
}

function collectCommands(value: unknown, lines: string[], depth: number): void {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH || lines.length > MAX_COMMANDS) return
  if (isObject(value)) lines.push(...COMMAND_KEYS.flatMap(key => commandLine(value[key], value.args)))
  for (const inner of Object.values(value)) collectCommands(inner, lines, depth + 1)
}

function commandLine(named: unknown, args: unknown): string[] {
  if (typeof named === 'string') return [withArguments(named, args)]
  return isTexts(named) && named.length > 0 ? [lineOf(named)] : []
}

/**
 * Every path that a tool call names: its locations, its diffs, and what looks like one in its input. Undefined when
 * there are more than can be looked at.
 */
export function pathsOf(call: AgentToolCall): string[] | undefined {
  const paths = new Set(call.paths)
  for (const part of call.content)
    if (part.type === 'diff' && typeof part.path === 'string') paths.add(part.path)
  const isAll = call.rawInput === undefined || collect(call.rawInput, undefined, paths, 0)
  return isAll && paths.size <= MAX_PATHS ? [...paths].map(withoutScheme) : undefined
}

function collect(value: unknown, key: string | undefined, paths: Set<string>, depth: number): boolean {
  if (depth > MAX_DEPTH || paths.size > MAX_PATHS) return false
  if (typeof value === 'string') {
    if (isPath(value, key)) paths.add(value)
    return true
  }
  if (Array.isArray(value)) return value.every(item => collect(item, key, paths, depth + 1))
  if (!isObject(value)) return true
  return Object.entries(value).every(([name, item]) => collect(item, name, paths, depth + 1))
}

function isPath(text: string, key = ''): boolean {
  if (CONTENT_KEYS.test(key)) return false
  if (PATH_KEYS.test(key)) return true
  return !text.includes('\n') && (/^([/~]|file:)/i.test(text) || /(^|\/)\.\.(\/|$)/.test(text))
}

function withoutScheme(file: string): string {
  if (!/^file:/i.test(file)) return file
  try {
    return decodeURIComponent(new URL(file).pathname)
  } catch {
    // A URL that cannot be decoded fits no rule.
    return '\0'
  }
}

function lineOf(argv: readonly string[]): string {
  const [program = '', flag = '', script = ''] = argv
  const isShell = argv.length === 3 && SHELL.test(program) && SHELL_FLAGS.test(flag)
  return isShell ? script : argv.join(' ')
}

function withArguments(command: string, args: unknown): string {
  return isTexts(args) && args.length > 0 ? lineOf([command, ...args]) : command
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string')
}
