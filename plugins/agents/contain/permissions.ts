import path from 'node:path'
import { globs } from '../../../src/plugin.ts'
import type { AgentToolCall, PermissionOutcome, PermissionRequest } from '../agent-ports.ts'
import type { PermissionPolicy } from '../settings-ports.ts'
import { lookUp } from './lookup.ts'
import { isWithin } from './paths.ts'
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

/** The first rule that fits decides. `request.call` is merged with what the agent announced of it before. */
export async function decide(
  policy: PermissionPolicy,
  request: PermissionRequest,
  site: PermissionSite,
): Promise<Decision> {
  for (const [index, rule] of policy.rules.entries()) {
    if (await fits(rule, request.call, site)) return { do: rule.do, rule: `rule ${index + 1}` }
  }
  return { do: policy.default, rule: 'default' }
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

async function fits(rule: Rule, call: AgentToolCall, site: PermissionSite): Promise<boolean> {
  const { kinds, commands, titles, within } = rule
  if (kinds !== undefined && (call.kind === undefined || !kinds.includes(call.kind))) return false
  if (titles !== undefined && !globs(titles)(call.title)) return false
  if (commands !== undefined && !fitsCommands(commands, call, rule.do)) return false
  return within === undefined || fitsWithin(rule, within, call, site)
}

function fitsCommands(commands: readonly string[], call: AgentToolCall, verdict: Verdict): boolean {
  const lines = commandLinesOf(call).map(line => line.trim())
  const patterns = commands.map(pattern => ({ pattern, matches: globs(pattern) }))
  const isMatch = (line: string): boolean =>
    patterns.some(
      ({ pattern, matches }) =>
        matches(line) && (verdict !== 'allow' || operatorsOf(line) === operatorsOf(pattern)),
    )
  // An input that names several is allowed only when each one is, and refused when any is.
  return lines.length > 0 && (verdict === 'allow' ? lines.every(isMatch) : lines.some(isMatch))
}

function operatorsOf(line: string): string {
  return line.replace(OPERATORS, '')
}

async function fitsWithin(
  rule: Rule,
  within: string,
  call: AgentToolCall,
  { cwd, directory }: PermissionSite,
): Promise<boolean> {
  // Nobody knows what a command touches, unless the rule knows the command.
  if (rule.commands === undefined && (call.kind === 'execute' || commandLinesOf(call).length > 0))
    return false
  const paths = pathsOf(call)
  if (paths === undefined || paths.length === 0) return false
  const base = within === 'cwd' ? cwd : await realOf(path.resolve(directory, within), directory)
  const reals = await Promise.all(paths.map(file => realOf(file, cwd)))
  return base !== undefined && reals.every(real => real !== undefined && isWithin(base, real))
}

/** Where a path leads, or would once it is made; undefined when that cannot be known. */
async function realOf(file: string, cwd: string): Promise<string | undefined> {
  if (file === '' || file.includes('\0') || file.startsWith('~') || file.length > 4096) return undefined
  const lookup = await lookUp(file.startsWith('/') ? file : `${cwd}/${file}`, () => true)
  const isNamed = lookup.is === 'found' || (lookup.is === 'missing' && lookup.names.length > 0)
  return isNamed ? lookup.real : undefined
}
