import { isPlain } from '../../util/plain-data.ts'
import { getPlatform } from '../../util/platform.ts'
import type { Tree } from './tree.ts'
import { locateValues } from './tree.ts'

/** Text part with placeholders. */
export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'variable'
      readonly name: string
      readonly operator: '' | ':-' | ':?'
      readonly operand: readonly TemplatePart[]
    }
  | SourcePart<'file'>
  | SourcePart<'exec'>
  | SourcePart<'keyring'>

/** A placeholder for an external value: file, command or keyring. */
interface SourcePart<Kind> {
  readonly kind: Kind
  readonly inner: readonly TemplatePart[]
}

type Template = { readonly parts: readonly TemplatePart[] } | { readonly mistake: string }

const MAX_DEPTH = 16
const SOURCES = ['file', 'exec', 'keyring'] as const
const VARIABLE = /(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-|:\?|(?=\}))/y

/**
 * Parses `${VAR}`, `${VAR:-default}`, `${VAR:?message}`, `${env:VAR}`, `${file:path}`, `${exec:command}` and
 * `${keyring:name}`; `$${` is a literal `${`.
 */
export function parseTemplate(text: string): Template {
  try {
    return { parts: new TemplateReader(text).read(0) }
  } catch (thrown) {
    if (thrown instanceof TemplateError) return { mistake: thrown.message }
    throw thrown
  }
}

class TemplateError extends Error {}

class TemplateReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Parses to the end, or within a placeholder to its closing brace. */
  read(depth: number): TemplatePart[] {
    if (depth > MAX_DEPTH) throw new TemplateError(`placeholders nested deeper than ${MAX_DEPTH} levels`)
    const parts: TemplatePart[] = []
    let literal = ''
    while (this.#at < this.#text.length && !(depth > 0 && this.#text[this.#at] === '}')) {
      if (this.#text.startsWith('$${', this.#at)) literal += this.#take('$${').slice(1)
      else if (this.#text.startsWith('${', this.#at)) {
        if (literal !== '') parts.push({ kind: 'text', text: literal })
        literal = ''
        parts.push(this.#placeholder(depth))
      } else literal += this.#text.charAt(this.#at++)
    }
    return literal === '' ? parts : [...parts, { kind: 'text', text: literal }]
  }

  #placeholder(depth: number): TemplatePart {
    const start = this.#at
    this.#take('${')
    const kind = SOURCES.find(source => this.#text.startsWith(`${source}:`, this.#at))
    const part = kind === undefined ? this.#variable(start, depth) : this.#source(kind, depth)
    if (this.#text[this.#at] !== '}') throw new TemplateError(`unclosed placeholder ${this.#getExcerpt(start)}`)
    this.#at++
    return part
  }

  #source(kind: (typeof SOURCES)[number], depth: number): TemplatePart {
    this.#take(`${kind}:`)
    return { kind, inner: this.read(depth + 1) }
  }

  #variable(start: number, depth: number): TemplatePart {
    VARIABLE.lastIndex = this.#at
    const match = VARIABLE.exec(this.#text)
    if (match === null) throw new TemplateError(`invalid placeholder ${this.#getExcerpt(start)}`)
    this.#at += match[0].length
    const [, name = '', operator] = match
    if (operator !== ':-' && operator !== ':?') return { kind: 'variable', name, operator: '', operand: [] }
    return { kind: 'variable', name, operator, operand: this.read(depth + 1) }
  }

  #take(expected: string): string {
    this.#at += expected.length
    return expected
  }

  #getExcerpt(start: number): string {
    const end = this.#text.indexOf('}', start)
    return this.#text.slice(start, end < 0 ? start + 40 : Math.min(end + 1, start + 40))
  }
}

/** A command that prints a secret. */
export interface SecretCommand {
  readonly argv: readonly string[]
  /** Directory of the file that contains it. */
  readonly cwd: string
}

/** Command output or error. */
type CommandOutput = { readonly text: string } | { readonly why: string }

/** Runs a command without a shell, with limits on time and output. */
export type RunCommand = (command: SecretCommand) => Promise<CommandOutput>

/** Outputs by command; `leave` if none is run. */
export type Outputs = ReadonlyMap<string, CommandOutput> | 'leave'

export const NOT_RUN: Outputs = new Map()

/** Keyring commands; `{name}` is replaced with the entry name. */
const LOOKUPS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  linux: ['secret-tool', 'lookup', 'service', 'tapgate', 'name', '{name}'],
  darwin: ['security', 'find-generic-password', '-s', 'tapgate', '-a', '{name}', '-w'],
}

/** Used as output if commands are not run. */
const PLACEHOLDER_OUTPUT = 'not-run'

type CommandOutcome =
  | { readonly text: string }
  | { readonly text: string; /** Not run yet. */ readonly program: string }
  | { readonly why: string; readonly hint?: string }

/** Commands of a configuration; equal ones run once per load. */
export class SecretCommands {
  readonly #outputs: Outputs
  readonly #keyring: readonly string[] | undefined
  readonly #pending = new Map<string, SecretCommand>()

  constructor(tree: Tree, outputs: Outputs) {
    this.#outputs = outputs
    this.#keyring = getKeyringCommand(tree) ?? LOOKUPS[getPlatform().name]
  }

  /** Commands without output yet. */
  get pending(): SecretCommand[] {
    return [...this.#pending.values()]
  }

  /** @param words command words, or the keyring name */
  getOutput(kind: 'exec' | 'keyring', words: readonly string[] | string, cwd: string): CommandOutcome {
    const argv = typeof words === 'string' ? this.#lookup(words) : words
    if (argv === undefined) return { why: 'no keyring available', hint: 'set its command in "secrets.keyring"' }
    const [program = ''] = argv
    if (program === '') return { why: `\${${kind}:} is empty`, hint: `write \${${kind}:…}` }
    const key = getCommandKey({ argv, cwd })
    const output = this.#outputs === 'leave' ? undefined : this.#outputs.get(key)
    if (output === undefined) this.#pending.set(key, { argv, cwd })
    if (output === undefined) return { text: PLACEHOLDER_OUTPUT, program }
    // Report only the program, as arguments may be secret.
    return 'text' in output ? output : { why: `${program} ${output.why}` }
  }

  #lookup(name: string): readonly string[] | undefined {
    if (name === '') return ['']
    const command = this.#keyring
    if (command === undefined) return undefined
    const isNamed = command.some(argument => argument.includes('{name}'))
    return isNamed ? command.map(argument => argument.replaceAll('{name}', name)) : [...command, name]
  }
}

export function getCommandKey({ argv, cwd }: SecretCommand): string {
  return JSON.stringify([cwd, ...argv])
}

/** Ignores placeholders in `secrets.keyring`. */
function getKeyringCommand(tree: Tree): readonly string[] | undefined {
  const secrets = tree.kind === 'map' ? tree.entries.get('secrets')?.tree : undefined
  const value = secrets === undefined ? undefined : locateValues(secrets).value
  const keyring = isPlain(value) ? value.keyring : undefined
  return Array.isArray(keyring) && keyring.every(argument => typeof argument === 'string') ? keyring : undefined
}

/** Splits a command at whitespace; placeholder values are not split. Undefined if one has no value. */
export function splitWords(
  parts: readonly TemplatePart[],
  fill: (part: TemplatePart) => string | undefined,
): string[] | undefined {
  const words = ['']
  for (const part of parts) {
    const text = fill(part)
    if (text === undefined) return undefined
    const [first = '', ...rest] = part.kind === 'text' ? text.split(/\s+/) : [text]
    words.push(`${words.pop() ?? ''}${first}`, ...rest)
  }
  return words.filter(word => word !== '')
}

/** True if a placeholder runs a command. */
export function hasCommand(parts: readonly TemplatePart[]): boolean {
  return parts.some(part => {
    if (part.kind === 'text') return false
    return part.kind === 'variable' ? hasCommand(part.operand) : part.kind !== 'file' || hasCommand(part.inner)
  })
}
