import { isObject } from '../../../src/plugin.ts'
import type { AgentToolCall } from '../types/agent.ts'

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
    // What cannot be read fits nowhere.
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
