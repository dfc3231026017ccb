import { isPlain } from '../../util/plain-data.ts'
import { getPlatform } from '../../util/platform.ts'
import type { Origin, Tree } from './tree.ts'
import { locate } from './tree.ts'

/** A piece of a text with placeholders. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'variable'
      readonly name: string
      readonly operator: '' | ':-' | ':?'
      readonly rest: readonly Part[]
    }
  | SourcePart<'file'>
  | SourcePart<'exec'>
  | SourcePart<'keyring'>

/** A placeholder whose value is kept elsewhere: in a file, by a command, in a keyring. */
interface SourcePart<Kind> {
  readonly kind: Kind
  readonly inner: readonly Part[]
}

type Template = { readonly parts: readonly Part[] } | { readonly mistake: string }

const MAX_DEPTH = 16
const SOURCES = ['file', 'exec', 'keyring'] as const
const VARIABLE = /(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-|:\?|(?=\}))/y

/** Takes a text apart at `${VAR}`, `${VAR:-default}`, `${VAR:?message}`, `${env:VAR}`, `${file:path}`, `${exec:command}` and `${keyring:name}`; `$${` is a plain `${`. */
export function parseTemplate(text: string): Template {
  try {
    return { parts: new TemplateReader(text).read(0) }
  } catch (thrown) {
    if (thrown instanceof Mistake) return { mistake: thrown.message }
    throw thrown
  }
}

class Mistake extends Error {}

class TemplateReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Reads to the end, or inside a placeholder to its closing brace. */
  read(depth: number): Part[] {
    if (depth > MAX_DEPTH) throw new Mistake(`placeholders are nested deeper than ${MAX_DEPTH} levels`)
    const parts: Part[] = []
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

  #placeholder(depth: number): Part {
    const start = this.#at
    this.#take('${')
    const kind = SOURCES.find(source => this.#text.startsWith(`${source}:`, this.#at))
    const part = kind === undefined ? this.#variable(start, depth) : this.#source(kind, depth)
    if (this.#text[this.#at] !== '}') throw new Mistake(`${this.#shown(start)} is not closed`)
    this.#at++
    return part
  }

  #source(kind: (typeof SOURCES)[number], depth: number): Part {
    this.#take(`${kind}:`)
    return { kind, inner: this.read(depth + 1) }
  }

  #variable(start: number, depth: number): Part {
    VARIABLE.lastIndex = this.#at
    const found = VARIABLE.exec(this.#text)
    if (found === null) throw new Mistake(`cannot read ${this.#shown(start)}`)
    this.#at += found[0].length
    const [, name = '', operator] = found
    if (operator !== ':-' && operator !== ':?') return { kind: 'variable', name, operator: '', rest: [] }
    return { kind: 'variable', name, operator, rest: this.read(depth + 1) }
  }

  #take(expected: string): string {
    this.#at += expected.length
    return expected
  }

  #shown(start: number): string {
    const end = this.#text.indexOf('}', start)
    return this.#text.slice(start, end < 0 ? start + 40 : Math.min(end + 1, start + 40))
  }
}

/** A command that prints a secret. */
export interface SecretCommand {
  readonly argv: readonly string[]
  /** Directory of the file that names it. */
  readonly cwd: string
}

/** Output of a command, or the reason why there is none. */
type CommandOutput = { readonly text: string } | { readonly why: string }

/** Runs a command without a shell, bounded in time and output. */
export type RunCommand = (command: SecretCommand) => Promise<CommandOutput>

/** Output of each command; `leave` where none is to be run. */
export type Outputs = ReadonlyMap<string, CommandOutput> | 'leave'

export const NOT_RUN: Outputs = new Map()

/** Commands that print a secret of the system's keyring. `{name}` stands for the name of an entry. */
const LOOKUPS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  linux: ['secret-tool', 'lookup', 'service', 'tapgate', 'name', '{name}'],
  darwin: ['security', 'find-generic-password', '-s', 'tapgate', '-a', '{name}', '-w'],
}

/** Stands for what no command was run for. */
const STAND_IN = 'not-run'

type CommandOutcome =
  { readonly text: string; readonly isStandIn?: boolean } | { readonly why: string; readonly hint?: string }

/** The commands of one configuration: each runs once per load, however often it is named. */
export class Commands {
  readonly #outputs: Outputs
  readonly #keyring: readonly string[] | undefined
  readonly #wanted = new Map<string, SecretCommand>()

  constructor(tree: Tree, outputs: Outputs) {
    this.#outputs = outputs
    this.#keyring = getKeyringCommand(tree) ?? LOOKUPS[getPlatform().name]
  }

  /** Those whose output is not there yet. */
  get wanted(): SecretCommand[] {
    return [...this.#wanted.values()]
  }

  /** @param words of the command, or the name in the keyring */
  getOutput(kind: 'exec' | 'keyring', words: readonly string[] | string, cwd: string): CommandOutcome {
    const argv = typeof words === 'string' ? this.#lookup(words) : words
    if (argv === undefined)
      return { why: 'no keyring is known here', hint: 'name its command in "secrets.keyring"' }
    const [program = ''] = argv
    if (program === '') return { why: `\${${kind}:} names nothing`, hint: `write \${${kind}:…}` }
    if (this.#outputs === 'leave') return { text: STAND_IN, isStandIn: true }
    const key = getCommandKey({ argv, cwd })
    const output = this.#outputs.get(key)
    if (output === undefined) this.#wanted.set(key, { argv, cwd })
    if (output === undefined) return { text: STAND_IN, isStandIn: true }
    // Its arguments may be secrets themselves.
    return 'text' in output ? output : { why: `${program} ${output.why}` }
  }

  #lookup(name: string): readonly string[] | undefined {
    if (name === '') return ['']
    const command = this.#keyring
    if (command === undefined) return undefined
    const isNamed = command.some(word => word.includes('{name}'))
    return isNamed ? command.map(word => word.replaceAll('{name}', name)) : [...command, name]
  }
}

export function getCommandKey({ argv, cwd }: SecretCommand): string {
  return JSON.stringify([cwd, ...argv])
}

/** Read as it is written: a keyring that comes out of a placeholder is none. */
function getKeyringCommand(tree: Tree): readonly string[] | undefined {
  const secrets = tree.kind === 'map' ? tree.entries.get('secrets')?.tree : undefined
  const value = secrets === undefined ? undefined : locate(secrets).value
  const keyring = isPlain(value) ? value.keyring : undefined
  return Array.isArray(keyring) && keyring.every(word => typeof word === 'string') ? keyring : undefined
}

/** Splits a command at blanks; the value of a placeholder is never split. Undefined if one has no value. */
export function splitWords(
  parts: readonly Part[],
  fill: (part: Part) => string | undefined,
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

/** True where one of these placeholders runs a command. */
export function namesCommand(parts: readonly Part[]): boolean {
  return parts.some(part => {
    if (part.kind === 'text') return false
    return part.kind === 'variable'
      ? namesCommand(part.rest)
      : part.kind !== 'file' || namesCommand(part.inner)
  })
}

/** The origin of a value with the placeholder that got it from elsewhere. */
export function extendOrigin(origin: Origin, parts: readonly Part[]): Origin {
  const sources = parts.filter(({ kind }) => kind === 'exec' || kind === 'keyring')
  return origin.from !== 'file' || sources.length === 0
    ? origin
    : { ...origin, by: sources.map(written).join(' ') }
}

function written(part: Part): string {
  if (part.kind === 'text') return part.text
  return part.kind === 'variable'
    ? `\${${part.name}}`
    : `\${${part.kind}:${part.inner.map(written).join('')}}`
}
