import { dirname, resolve } from 'node:path'
import { appendPointer } from '../../util/finding.ts'
import { isSecretName } from '../../util/secrets.ts'
import { coerce, isSecretPath } from '../schema-messages.ts'
import type { Problem, ReportProblem } from '../problem.ts'
import { createProblem } from '../problem.ts'
import type { Outputs, TemplatePart, SecretCommand } from './secret-commands.ts'
import { SecretCommands, NOT_RUN, hasCommand, extendOrigin, parseTemplate, splitWords } from './secret-commands.ts'
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
    const spot = { pointer, scalar }
    const template = parseTemplate(text)
    // Do not quote the mistake: a password may contain "${".
    if ('mistake' in template)
      return this.#refuse(spot, isSecretPath(pointer) ? 'invalid placeholder' : template.mistake, FORMS)
    const filled = template.parts.map(part => this.#fillPart(part, spot))
    if (filled.some(part => part === undefined)) return scalar
    this.#warnOfOtherForms(template.parts, spot)
    const value = this.#value(filled.join(''), template.parts, pointer)
    return { ...scalar, value, origin: extendOrigin(scalar.origin, template.parts) }
  }

  /** A single placeholder may yield a number or boolean. */
  #value(text: string, parts: readonly TemplatePart[], pointer: string): Scalar {
    return parts.length === 1 && parts[0]?.kind !== 'text' ? coerce(text, pointer) : text
  }

  #fillPart(part: TemplatePart, spot: ScalarLocation): string | undefined {
    if (part.kind === 'text') return part.text
    if (part.kind === 'variable') return this.#variable(part, spot)
    return part.kind === 'file' ? this.#file(part.inner, spot) : this.#command(part, spot)
  }

  #fillParts(parts: readonly TemplatePart[], spot: ScalarLocation): string | undefined {
    const filled = parts.map(part => this.#fillPart(part, spot))
    return filled.includes(undefined) ? undefined : filled.join('')
  }

  #variable(part: TemplatePart & { kind: 'variable' }, spot: ScalarLocation): string | undefined {
    const { name, operator, rest } = part
    const value = Object.hasOwn(this.#environment, name) ? this.#environment[name] : undefined
    // As in a shell, operators treat empty variables as unset.
    if (value === undefined || (value === '' && operator !== '')) {
      return operator === ':-' ? this.#fillParts(rest, spot) : this.#reportUnset(part, value, spot)
    }
    if (isSecretPath(spot.pointer) || isSecretName(name)) this.#addSecret(value)
    return value
  }

  #reportUnset(
    { name, rest }: TemplatePart & { kind: 'variable' },
    value: string | undefined,
    spot: ScalarLocation,
  ): undefined {
    const reason = this.#fillParts(rest, spot)
    const message = `variable ${name} is ${value === '' ? 'empty' : 'not set'}`
    this.#refuse(spot, message, reason || `set it, or add a default: \${${name}:-default}`)
  }

  #file(path: readonly TemplatePart[], spot: ScalarLocation): string | undefined {
    const name = this.#fillParts(path, spot)
    if (name === undefined) return undefined
    if (name === '') return void this.#refuse(spot, '${file:} is empty', 'write ${file:path}')
    const file = resolve(this.#getDirectory(spot.scalar), name)
    const contents = this.files.get(file) ?? readText(file, MAX_FILE_BYTES)
    this.files.set(file, contents)
    if (!('text' in contents)) return void this.#refuse(spot, `cannot read ${file}: ${contents.why}`)
    const text = contents.text.replace(/\r?\n$/, '')
    this.#addSecret(text)
    return text
  }

  /** Command output, or a placeholder that is excluded from findings. */
  #command({ kind, inner }: TemplatePart & { kind: 'exec' | 'keyring' }, spot: ScalarLocation): string | undefined {
    if (hasCommand(inner)) return void this.#refuse(spot, 'commands cannot be nested')
    if (kind === 'exec' && inner.some(part => part.kind === 'text' && /["']/.test(part.text)))
      return void this.#refuse(spot, 'quotes are not supported, as the command is split at spaces', 'use a script')
    const words = kind === 'exec' ? splitWords(inner, part => this.#fillPart(part, spot)) : this.#fillParts(inner, spot)
    if (words === undefined) return undefined
    const found = this.commands.getOutput(kind, words, this.#getDirectory(spot.scalar))
    if ('why' in found) return void this.#refuse(spot, found.why, found.hint)
    if (found.isPlaceholder === true) this.broken.add(spot.pointer)
    else this.#addSecret(found.text)
    return found.text
  }

  #getDirectory(scalar: ScalarTree): string {
    return scalar.origin.from === 'file' ? dirname(scalar.origin.file) : this.#cwd
  }

  #addSecret(value: string): void {
    if (value.length >= MIN_SECRET_LENGTH) this.secrets.add(value)
  }

  #refuse(spot: ScalarLocation, message: string, hint?: string): Tree {
    this.broken.add(spot.pointer)
    this.#addProblem(spot, message, hint, 'error')
    return spot.scalar
  }

  /** Warns about placeholder syntax of other tools, which is not replaced. */
  #warnOfOtherForms(parts: readonly TemplatePart[], spot: ScalarLocation): void {
    for (const part of parts) {
      if (part.kind !== 'text') continue
      const [form, name = ''] = /\{env:(\w+)\}/.exec(part.text) ?? /\$([A-Za-z_]\w*)/.exec(part.text) ?? []
      // Do not quote a "$" in a password.
      if (form === undefined || (isSecretPath(spot.pointer) && !Object.hasOwn(this.#environment, name))) continue
      this.#addProblem(spot, `${form} is not a placeholder`, `use \${${name}}`, 'warning')
    }
  }

  #addProblem(spot: ScalarLocation, message: string, hint: string | undefined, severity: Problem['severity']): void {
    this.#report(createProblem(spot.scalar.origin, { pointer: spot.pointer, message, hint, severity }))
  }
}
