import { writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { collectSecrets } from '../../config/secrets.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { makeDirectory } from '../../util/storage/files.ts'
import type { ClientInputs, PlaceholderStyle } from './formats.ts'

/** A function, as `$$` has a meaning of its own in a replacement. */
const getEscapedBrace = (): string => '$${'

/** A client's text as plain text of ours. */
export function escapePlaceholders(text: string): string {
  return text.replaceAll('${', getEscapedBrace)
}

/** A client's text in our form: `${VAR}`, `${VAR:-default}`, `${file:path}`, and `$${` for a plain `${`. */
export const PLACEHOLDER_REWRITERS: Readonly<Record<PlaceholderStyle, PlaceholderRewriter>> = {
  braces: (text, filling) => {
    const name = /^(?:\w+ )?\$([A-Z_][A-Z0-9_]*)$/.exec(text)?.[1]
    if (name !== undefined) filling.note(`$${name} is plain text here: write \${${name}} for the variable`)
    return rewriteBraces(text, filling)
  },
  dollar: (text, filling) => {
    for (const [whole, command = ''] of text.matchAll(/\$\(([^)]*)\)/g))
      filling.note(
        `${whole} is a command that its client runs, and plain text here: write \${exec:${command}} for what it prints`,
      )
    return rewriteBraces(text, filling).replace(
      /(?<!\$)\$([A-Za-z_]\w*)/g,
      (_, name: string) => `\${${name}}`,
    )
  },
  opencode: text =>
    escapePlaceholders(text)
      .replace(/\{env:(\w+)\}/g, (_, name: string) => `\${${name}}`)
      .replace(
        /\{file:([^}]+)\}/g,
        (_, path: string) => `\${file:${path.replace(/^~(?=[/\\])/, '${HOME}')}}`,
      ),
  none: escapePlaceholders,
}

/** A secret that stood in a client's settings as it is. */
interface ExtractedToken {
  /** `web: headers.Authorization` */
  readonly place: string
  readonly value: string
  /** Path for it, relative to the directory of tokens. */
  readonly file: string
}

/** The secrets that these upstreams hold as they are, and the same upstreams with a placeholder for each instead. */
export function extractSecrets(
  upstreams: JsonObject,
  placeholderOf: (file: string) => string,
  isWanted: (place: readonly string[], text: string) => boolean = () => true,
): { readonly tokens: readonly ExtractedToken[]; readonly upstreams: JsonObject } {
  const tokens: ExtractedToken[] = []
  const moved = Object.entries(upstreams).map(([name, spec]) => {
    const secrets = collectSecrets({ upstreams: { [name]: spec } })
      .filter(secret => !secret.includes('${'))
      .sort((a, b) => b.length - a.length)
    const moveSecret = (text: string, path: readonly string[]): string => {
      const value = secrets.find(secret => text.includes(secret))
      if (value === undefined || !isWanted(path, text)) return text
      const file = chooseSecretFile([name, ...path], tokens)
      tokens.push({ place: `${name}: ${path.join('.')}`, value, file })
      return text.replaceAll(value, () => placeholderOf(file))
    }
    return [name, mapStringsWithPath(spec, [], moveSecret)] as const
  })
  return { tokens, upstreams: Object.fromEntries(moved) }
}

/** Writes each into its file, for the owner only. */
export async function writeTokens(tokens: readonly ExtractedToken[], directory: string): Promise<void> {
  for (const { file, value } of tokens) {
    const path = resolve(directory, file)
    await makeDirectory(dirname(path), 0o700)
    await writeFile(path, value, { mode: 0o600 })
  }
}

function mapStringsWithPath(
  value: unknown,
  path: readonly string[],
  move: (text: string, path: readonly string[]) => string,
): unknown {
  if (typeof value === 'string') return move(value, path)
  if (Array.isArray(value))
    return value.map((item, i) => mapStringsWithPath(item, [...path, String(i)], move))
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map(([key, item]) => [key, mapStringsWithPath(item, [...path, key], move)]),
  )
}

function chooseSecretFile(path: readonly string[], taken: readonly ExtractedToken[]): string {
  const name = path
    .join('-')
    .replace(/[^\w-]+/g, '-')
    .toLowerCase()
  const isTaken = taken.some(({ file }) => file === name)
  return isTaken ? `${name}-${taken.length}` : name
}

/** Servers that were read, with notes for people. */
interface RewriteContext {
  readonly inputs: ClientInputs
  /** The entry cannot run as it is. */
  disable(): void
  /** Says something once. */
  note(text: string): void
}

type PlaceholderRewriter = (text: string, filling: RewriteContext) => string

function rewriteBraces(text: string, filling: RewriteContext): string {
  return text.replace(
    /(\$\{\{[^}]*\}\})|\$\{([^}]*)(\}|$)/g,
    (whole, expression?: string, inside: string = '', end: string = '') =>
      expression !== undefined || end === ''
        ? rewriteUnsupported(whole, filling)
        : rewriteExpression(whole, inside, filling),
  )
}

/** What clients fill in from the environment. A default of theirs is plain text. */
const VARIABLE_EXPRESSION = /^(?:env:)?[A-Za-z_]\w*(?::[-?].*)?$/s

/** Filled in by clients from what a gateway does not have. */
const UNSUPPORTED_PLACEHOLDER = /^\$\{(\{|(config|command):)/

const FIXED_PLACEHOLDERS: ReadonlyMap<string, string> = new Map([
  ['userHome', '${HOME}'],
  ['pathSeparator', '/'],
  ['/', '/'],
])

/** Text in which a client fills in nothing, or what cannot be filled in here: it is plain text, so that it runs nothing and reads no file. */
function rewriteUnsupported(whole: string, { note, disable }: RewriteContext): string {
  if (UNSUPPORTED_PLACEHOLDER.test(whole)) {
    note(
      `${whole} cannot be filled in here: write the value or a variable in its place, and take out "enabled"`,
    )
    disable()
  } else note(`${whole} is plain text here, as its client fills in no such thing`)
  return escapePlaceholders(whole)
}

function rewriteExpression(whole: string, inside: string, filling: RewriteContext): string {
  const [kind = '', name = ''] = inside.split(/:(?![-?])/, 2)
  if (kind === 'workspaceFolder' || kind === 'workspaceRoot') {
    filling.note(`${whole} became ".", the directory of gateway.yaml`)
    return '.'
  }
  const fixed = FIXED_PLACEHOLDERS.get(inside)
  if (fixed !== undefined) return fixed
  if (kind === 'input' && !inside.includes('${')) return rewriteInput(whole, name, filling)
  return VARIABLE_EXPRESSION.test(inside)
    ? `\${${escapePlaceholders(inside)}}`
    : rewriteUnsupported(whole, filling)
}

function rewriteInput(whole: string, name: string, { note, inputs }: RewriteContext): string {
  const variable = toVariableName(name)
  const { fallback, said } = getInputDefault(inputs.get(name))
  note(`${whole}, which the client asks its user for, became the variable ${variable}${said}`)
  return `\${${variable}${fallback}}`
}

/** The default of what a client asks for. A secret is not written down, and braces cannot be said here. */
function getInputDefault(input: JsonObject = {}): { readonly fallback: string; readonly said: string } {
  const { default: proposed, password } = input
  if (proposed === undefined || proposed === null) return { fallback: '', said: '' }
  const isPlain = typeof proposed !== 'object' && !/[{}]/.test(String(proposed))
  return isPlain && password !== true
    ? { fallback: `:-${String(proposed)}`, said: ", with the client's default" }
    : { fallback: '', said: '; its default was left out' }
}

function toVariableName(name: string): string {
  return name
    .replace(/\W+/g, '_')
    .replace(/^(?=\d)/, '_')
    .toUpperCase()
    .replace(/^$/, 'INPUT')
}
