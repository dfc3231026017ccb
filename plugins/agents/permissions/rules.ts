import path from 'node:path'
import { globs } from '../../../src/plugin.ts'
import type { AgentToolCall, PermissionOutcome, PermissionRequest } from '../types/agent.ts'
import type { PermissionPolicy } from '../types/settings.ts'
import { lookUp } from '../sandbox/lookup.ts'
import { isWithin } from '../sandbox/paths.ts'
import { commandLinesOf, pathsOf } from './permission-facts.ts'

type Verdict = 'allow' | 'deny' | 'ask'
type Rule = PermissionPolicy['rules'][number]

/** What is done about a request, and which rule says so: `rule 2`, counted from 1, or `default`. */
export interface Decision {
  readonly do: Verdict
  readonly rule: string
}

/** Where a request is made. */
export interface PermissionSite {
  /** The real path of the directory of the task; what is relative in a request is so to it. */
  readonly cwd: string
  /** Directory of the configuration; what is relative in a rule is so to it. */
  readonly directory: string
}

/** What shells read as more than words; where a rule allows, its `*` never stands for one of these. */
const OPERATORS = /[^;&|<>()`$\n\r\\]/g

/** Whether a rule fits a call; `unknown` where the call does not tell what the rule asks about. */
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

async function fitOf(rule: Rule, call: AgentToolCall, site: PermissionSite): Promise<Fit> {
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

/** Whether a call that names no command may be one all the same. */
function mayHideCommand({ kind, rawInput }: AgentToolCall): boolean {
  return kind === undefined || kind === 'execute' || (kind === 'other' && rawInput === undefined)
}

function isAllowedLine(line: string, commands: readonly string[]): boolean {
  return commands.some(pattern => globs(pattern)(line) && operatorsOf(line) === operatorsOf(pattern))
}

/** What stands between the operators of a shell, each by itself. */
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

/** Nobody knows what a command touches, unless the rule knows the command. */
function isOpaque({ commands }: Rule, call: AgentToolCall): boolean {
  return commands === undefined && (call.kind === 'execute' || commandLinesOf(call).length > 0)
}

/** Where a path leads, or would once it is made; undefined when that cannot be known. */
async function realOf(file: string, cwd: string): Promise<string | undefined> {
  if (file === '' || file.includes('\0') || file.startsWith('~') || file.length > 4096) return undefined
  const lookup = await lookUp(file.startsWith('/') ? file : `${cwd}/${file}`, () => true)
  const isNamed = lookup.is === 'found' || (lookup.is === 'missing' && lookup.names.length > 0)
  return isNamed ? lookup.real : undefined
}
