import { resolve } from 'node:path'
import { globs } from '../../../src/plugin.ts'
import type { AgentToolCall, Verdict } from '../types/agent.ts'
import type { PermissionPolicy } from '../types/settings.ts'
import { isWithin, realOf } from '../sandbox/paths.ts'

type Rule = PermissionPolicy['rules'][number]

/** Matches a rule with a call; `unknown` if the call does not tell what the rule asks about. */
type Fit = 'yes' | 'no' | 'unknown'

interface PermissionSite {
  /** The real path of the directory of the task; what is relative in a call is so to it. */
  readonly cwd: string
  /** Directory of the configuration; what is relative in a rule is so to it. */
  readonly directory: string
}

/** A shell that is asked to run one text, by a name that is surely the shell. */
const SHELL = /^(\/(usr\/)?bin\/)?(ba|z|da|k)?sh$/

/** Kinds of calls that need name no file. */
const WITHOUT_FILES: ReadonlySet<string | undefined> = new Set(['think', 'fetch', 'switch_mode'])

/**
 * The first rule that fits decides: `rule 2`, counted from 1, or `default`. If a call does not tell what a rule that denies or
 * asks looks for, nothing behind that rule allows it: it is asked.
 */
export function decide(policy: PermissionPolicy, call: AgentToolCall, site: PermissionSite): Verdict {
  let unsure: string | undefined
  for (const [index, rule] of policy.rules.entries()) {
    const by = `rule ${index + 1}`
    const fit = matchRule(rule, call, site)
    if (fit === 'yes') return unlessUnsure({ do: rule.do, by }, unsure)
    if (fit === 'unknown' && rule.do !== 'allow') unsure ??= by
  }
  return unlessUnsure({ do: policy.default, by: 'default' }, unsure)
}

function unlessUnsure(verdict: Verdict, unsure: string | undefined): Verdict {
  if (verdict.do !== 'allow' || unsure === undefined) return verdict
  return { do: 'ask', by: `${unsure} (the call does not tell what it looks for)` }
}

function matchRule(rule: Rule, call: AgentToolCall, site: PermissionSite): Fit {
  const fits = [
    matchKind(rule, call),
    matchTitle(rule, call),
    matchCommand(rule, call),
    matchFiles(rule, call, site),
  ]
  return fits.includes('no') ? 'no' : fits.includes('unknown') ? 'unknown' : 'yes'
}

function matchKind({ kinds, do: verdict }: Rule, call: AgentToolCall): Fit {
  if (kinds === undefined) return 'yes'
  // Whatever it is called: a call with a command executes it.
  if (verdict !== 'allow' && kinds.includes('execute') && commandOf(call) !== undefined) return 'yes'
  if (call.kind === undefined) return 'unknown'
  return kinds.includes(call.kind) ? 'yes' : 'no'
}

function matchTitle({ titles }: Rule, { title }: AgentToolCall): Fit {
  if (titles === undefined || globs(titles)(title)) return 'yes'
  return title === '' ? 'unknown' : 'no'
}

function matchCommand({ commands, do: verdict }: Rule, call: AgentToolCall): Fit {
  if (commands === undefined) return 'yes'
  const line = commandOf(call)
  if (line === undefined) return mayHideCommand(call) ? 'unknown' : 'no'
  if (verdict === 'allow') return commands.some(pattern => isAllowedLine(line, pattern)) ? 'yes' : 'no'
  const matches = globs(commands)
  return [line, ...splitCommands(line)].some(matches) ? 'yes' : 'no'
}

/** True if a call that names no command may be one all the same. */
function mayHideCommand({ kind, rawInput }: AgentToolCall): boolean {
  return kind === undefined || kind === 'execute' || (kind === 'other' && rawInput === undefined)
}

/** If a rule allows, its `*` stands for no shell operator. */
function isAllowedLine(line: string, pattern: string): boolean {
  const operators = (text: string): string => text.replace(/[^;&|<>()`$\n\r\\]/g, '')
  return globs(pattern)(line) && operators(line) === operators(pattern)
}

/** Commands between the operators of a shell, each by itself. */
function splitCommands(line: string): string[] {
  return line.split(/[;&|<>()`$\n\r]+/).map(part => part.trim())
}

/** All files must be inside to be allowed, and any one that is inside is enough to be refused. */
function matchFiles(rule: Rule, call: AgentToolCall, site: PermissionSite): Fit {
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

function locateFiles(within: string, { paths }: AgentToolCall, { cwd, directory }: PermissionSite) {
  const base = within === 'cwd' ? cwd : realOf(resolve(directory, within))
  return paths.map(path => isInside(base, path, cwd))
}

/** True for a call whose command may touch anything, as the rule does not know the command. */
function isOpaque({ commands }: Rule, call: AgentToolCall): boolean {
  return commands === undefined && (call.kind === 'execute' || commandOf(call) !== undefined)
}

/** Whether a path leads into a directory; undefined if that cannot be known, such as behind `..` after a link. */
function isInside(base: string, path: string, cwd: string): boolean | undefined {
  if (path === '' || path.includes('\0') || path.startsWith('~') || path.split('/').includes('..'))
    return undefined
  return isWithin(base, realOf(resolve(cwd, path)))
}

/** The command line that a call names. A list that only wraps a text in a shell is that text. */
export function commandOf({ rawInput = {} }: AgentToolCall): string | undefined {
  const { command, args } = rawInput
  const words = typeof command === 'string' ? [command.trim()] : isTexts(command) ? command : []
  const line = unwrapShell(typeof command === 'string' && isTexts(args) ? [...words, ...args] : words)
  return line === '' ? undefined : line
}

function unwrapShell(words: readonly string[]): string {
  const [program = '', flag = '', script = ''] = words
  return words.length === 3 && SHELL.test(program) && /^-[a-z]*c$/.test(flag) ? script : words.join(' ')
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string')
}
