import { dirname, resolve } from 'node:path'
import { findProgram } from '../../util/find-program.ts'
import { appendPointer } from '../../util/finding.ts'
import { splitPath } from '../../util/platform.ts'
import { isSecretName } from '../../util/secrets.ts'
import { coerce, isSecretPath } from '../schema-messages.ts'
import type { Problem, ReportProblem } from '../problem.ts'
import { createProblem } from '../problem.ts'
import type { Outputs, TemplatePart, SecretCommand } from './secret-commands.ts'
import { SecretCommands, NOT_RUN, hasCommand, parseTemplate, splitWords } from './secret-commands.ts'
import { readText } from './read-text.ts'
import type { Scalar, ScalarTree, Tree } from './tree.ts'

export type ConfigEnvironment = Readonly<Record<string, string | undefined>>

interface InterpolatedTree {
  readonly tree: Tree
  /** Values to redact. */
  readonly secrets: readonly string[]
  /** Pointers with failed placeholders, excluded from further findings. */
  readonly broken: ReadonlySet<string>
  /** Files read by `${file:…}`. */
  readonly files: readonly string[]
  /** Commands without output yet. */
  readonly commands: readonly SecretCommand[]
}

const MAX_FILE_BYTES = 64 * 1024
/** Shorter values would redact too much text. */
const MIN_SECRET_LENGTH = 4
const FORMS =
  'use ${VAR}, ${VAR:-default}, ${VAR:?message}, ${file:path}, ${exec:command}, ${keyring:name}, or $${ for a literal ${'

/** Replaces `${…}` in string values, not in keys. */
export function interpolate(
  tree: Tree,
  environment: ConfigEnvironment,
  cwd: string,
  report: ReportProblem,
  outputs: Outputs = NOT_RUN,
): InterpolatedTree {
  const filler = new Interpolator(environment, cwd, report, new SecretCommands(tree, outputs))
  const filled = filler.fill(tree, '')
  return {
    tree: filled,
    secrets: [...filler.secrets],
    broken: filler.broken,
    files: [...filler.files.keys()],
    commands: filler.commands.pending,
  }
}

interface ScalarLocation {
  readonly pointer: string
  readonly scalar: ScalarTree
}

class Interpolator {
  readonly secrets = new Set<string>()
  readonly broken = new Set<string>()
  readonly files = new Map<string, ReturnType<typeof readText>>()
  readonly #environment: ConfigEnvironment
  readonly #cwd: string
  readonly #report: ReportProblem
  readonly commands: SecretCommands

  constructor(environment: ConfigEnvironment, cwd: string, report: ReportProblem, commands: SecretCommands) {
    this.commands = commands
    this.#environment = environment
    this.#cwd = cwd
    this.#report = report
  }

  fill(tree: Tree, pointer: string): Tree {
    if (tree.kind === 'scalar') return typeof tree.value === 'string' ? this.#scalar(tree, tree.value, pointer) : tree
    if (tree.kind === 'list')
      return { ...tree, items: tree.items.map((item, i) => this.fill(item, appendPointer(pointer, i))) }
    const entries = [...tree.entries].map(
      ([key, entry]) => [key, { ...entry, tree: this.fill(entry.tree, appendPointer(pointer, key)) }] as const,
    )
    return { ...tree, entries: new Map(entries) }
  }

  #scalar(scalar: ScalarTree, text: string, pointer: string): Tree {
    if (!text.includes('$') && !text.includes('{env:')) return scalar
    const location = { pointer, scalar }
    const template = parseTemplate(text)
    // Do not quote the mistake: a password may contain "${".
    if ('mistake' in template)
      return this.#refuse(location, isSecretPath(pointer) ? 'invalid placeholder' : template.mistake, FORMS)
    const filled = template.parts.map(part => this.#fillPart(part, location))
    if (filled.some(part => part === undefined)) return scalar
    this.#warnOfOtherForms(template.parts, location)
    const value = this.#value(filled.join(''), template.parts, pointer)
    return { ...scalar, value }
  }

  /** A single placeholder may yield a number or boolean. */
  #value(text: string, parts: readonly TemplatePart[], pointer: string): Scalar {
    return parts.length === 1 && parts[0]?.kind !== 'text' ? coerce(text, pointer) : text
  }

  #fillPart(part: TemplatePart, location: ScalarLocation): string | undefined {
    if (part.kind === 'text') return part.text
    if (part.kind === 'variable') return this.#variable(part, location)
    return part.kind === 'file' ? this.#file(part.inner, location) : this.#command(part, location)
  }

  #fillParts(parts: readonly TemplatePart[], location: ScalarLocation): string | undefined {
    const filled = parts.map(part => this.#fillPart(part, location))
    return filled.includes(undefined) ? undefined : filled.join('')
  }

  #variable(part: TemplatePart & { kind: 'variable' }, location: ScalarLocation): string | undefined {
    const { name, operator, operand } = part
    const value = Object.hasOwn(this.#environment, name) ? this.#environment[name] : undefined
    // As in a shell, operators treat empty variables as unset.
    if (value === undefined || (value === '' && operator !== '')) {
      return operator === ':-' ? this.#fillParts(operand, location) : this.#reportUnset(part, value, location)
    }
    if (isSecretPath(location.pointer) || isSecretName(name)) this.#addSecret(value)
    return value
  }

  #reportUnset(
    { name, operand }: TemplatePart & { kind: 'variable' },
    value: string | undefined,
    location: ScalarLocation,
  ): undefined {
    const reason = this.#fillParts(operand, location)
    const message = `variable ${name} is ${value === '' ? 'empty' : 'not set'}`
    this.#refuse(location, message, reason || `set it, or add a default: \${${name}:-default}`)
  }

  #file(path: readonly TemplatePart[], location: ScalarLocation): string | undefined {
    const name = this.#fillParts(path, location)
    if (name === undefined) return undefined
    if (name === '') return void this.#refuse(location, '${file:} is empty', 'write ${file:path}')
    const file = resolve(this.#getDirectory(location.scalar), name)
    const contents = this.files.get(file) ?? readText(file, MAX_FILE_BYTES)
    this.files.set(file, contents)
    if (!('text' in contents)) return void this.#refuse(location, `cannot read ${file}: ${contents.why}`)
    const text = contents.text.replace(/\r?\n$/, '')
    this.#addSecret(text)
    return text
  }

  /** Command output, or a placeholder that is excluded from findings. */
  #command({ kind, inner }: TemplatePart & { kind: 'exec' | 'keyring' }, location: ScalarLocation): string | undefined {
    if (hasCommand(inner)) return void this.#refuse(location, 'commands cannot be nested')
    if (kind === 'exec' && inner.some(part => part.kind === 'text' && /["']/.test(part.text)))
      return void this.#refuse(location, 'quotes are not supported, as the command is split at spaces', 'use a script')
    const command =
      kind === 'exec' ? splitWords(inner, part => this.#fillPart(part, location)) : this.#fillParts(inner, location)
    if (command === undefined) return undefined
    const cwd = this.#getDirectory(location.scalar)
    const output = this.commands.getOutput(kind, command, cwd)
    if ('why' in output) return void this.#refuse(location, output.why, output.hint)
    if ('program' in output) {
      this.broken.add(location.pointer)
      this.#warnOfMissingProgram(kind, output.program, cwd, location)
    } else this.#addSecret(output.text)
    return output.text
  }

  #warnOfMissingProgram(kind: 'exec' | 'keyring', program: string, cwd: string, location: ScalarLocation): void {
    if (findProgram(program, splitPath(this.#environment.PATH), cwd) !== undefined) return
    const [reason, fix] = /[/\\]/.test(program)
      ? ['is not an executable file', 'correct the path, or make it executable']
      : ['not found on PATH', 'install it']
    const hint = kind === 'keyring' ? `${fix}, or set another program in secrets.keyring` : fix
    this.#addProblem(location, `\${${kind}:}: ${program} ${reason}`, hint, 'warning')
  }

  #getDirectory(scalar: ScalarTree): string {
    return scalar.origin.from === 'file' ? dirname(scalar.origin.file) : this.#cwd
  }

  #addSecret(value: string): void {
    if (value.length >= MIN_SECRET_LENGTH) this.secrets.add(value)
  }

  #refuse(location: ScalarLocation, message: string, hint?: string): Tree {
    this.broken.add(location.pointer)
    this.#addProblem(location, message, hint, 'error')
    return location.scalar
  }

  /** Warns about placeholder syntax of other tools, which is not replaced. */
  #warnOfOtherForms(parts: readonly TemplatePart[], location: ScalarLocation): void {
    for (const part of parts) {
      if (part.kind !== 'text') continue
      const [form, name = ''] = /\{env:(\w+)\}/.exec(part.text) ?? /\$([A-Za-z_]\w*)/.exec(part.text) ?? []
      // Do not quote a "$" in a password.
      if (form === undefined || (isSecretPath(location.pointer) && !Object.hasOwn(this.#environment, name))) continue
      this.#addProblem(location, `${form} is not a placeholder`, `use \${${name}}`, 'warning')
    }
  }

  #addProblem(
    location: ScalarLocation,
    message: string,
    hint: string | undefined,
    severity: Problem['severity'],
  ): void {
    this.#report(createProblem(location.scalar.origin, { pointer: location.pointer, message, hint, severity }))
  }
}
