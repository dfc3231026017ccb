import { writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { collectSecrets } from '../../config/secrets.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { isSecretName } from '../../util/secrets.ts'
import { makeDirectory } from '../../util/storage/files.ts'

/** Client placeholder syntax. */
export type PlaceholderStyle = 'braces' | 'dollar' | 'opencode' | 'none'

/** Inputs that a client prompts for, by id. */
export type ClientInputs = ReadonlyMap<string, JsonObject>

/** A function, because `$$` is special in replacement strings. */
const getEscapedBrace = (): string => '$${'

/** Escapes client text as plain text. */
export function escapePlaceholders(text: string): string {
  return text.replaceAll('${', getEscapedBrace)
}

/** Rewrites client placeholders to `${VAR}`, `${VAR:-default}` or `${file:path}`, and a literal `${` to `$${`. */
export const PLACEHOLDER_REWRITERS: Readonly<Record<PlaceholderStyle, PlaceholderRewriter>> = {
  braces: rewriteBraces,
  dollar: (text, filling) =>
    rewriteBraces(text, filling).replace(/(?<!\$)\$([A-Za-z_]\w*)/g, (_, name: string) => `\${${name}}`),
  opencode: text =>
    escapePlaceholders(text)
      .replace(/\{env:(\w+)\}/g, (_, name: string) => `\${${name}}`)
      .replace(/\{file:([^}]+)\}/g, (_, path: string) => `\${file:${path.replace(/^~(?=[/\\])/, '${HOME}')}}`),
  none: escapePlaceholders,
}

/** Literal secret in client settings. */
interface ExtractedToken {
  /** `web: headers.Authorization` */
  readonly location: string
  readonly value: string
  /** Path relative to the token directory. */
  readonly file: string
}

/** Directory for secret files, next to the configuration. */
export const SECRETS_DIRECTORY = 'secrets'

export function formatSecretReference(file: string): string {
  return `\${file:./${SECRETS_DIRECTORY}/${file}}`
}

/** Variables that contain paths or sentences are not secrets, whatever their length. */
export function isSecretText([key, name = '']: readonly string[], text: string): boolean {
  return key !== 'env' || isSecretName(name) || !/[/\\\s]/.test(text)
}

/** Extracts literal secrets, and those in `known`, and replaces each with a placeholder. */
export function extractSecrets(
  upstreams: JsonObject,
  formatPlaceholder: (file: string) => string,
  isWanted: (path: readonly string[], text: string) => boolean = () => true,
  known: readonly string[] = [],
): { readonly tokens: readonly ExtractedToken[]; readonly upstreams: JsonObject } {
  const tokens: ExtractedToken[] = []
  const moved = Object.entries(upstreams).map(([name, spec]) => {
    const secrets = [...known, ...collectSecrets({ upstreams: { [name]: spec } })]
      .filter(secret => !secret.includes('${'))
      .sort((a, b) => b.length - a.length)
    const moveSecret = (text: string, path: readonly string[]): string => {
      const value = secrets.find(secret => text.includes(secret))
      if (value === undefined || !isWanted(path, text)) return text
      const file = chooseSecretFile([name, ...path], tokens)
      tokens.push({ location: `${name}: ${path.join('.')}`, value, file })
      return text.replaceAll(value, () => formatPlaceholder(file))
    }
    return [name, mapStringsWithPath(spec, [], moveSecret)] as const
  })
  return { tokens, upstreams: Object.fromEntries(moved) }
}

/** Writes token files, readable only by their owner. */
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
  if (Array.isArray(value)) return value.map((item, i) => mapStringsWithPath(item, [...path, String(i)], move))
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  return Object.fromEntries(entries.map(([key, item]) => [key, mapStringsWithPath(item, [...path, key], move)]))
}

function chooseSecretFile(path: readonly string[], existing: readonly ExtractedToken[]): string {
  const name = path
    .join('-')
    .replace(/[^\w-]+/g, '-')
    .toLowerCase()
  const isTaken = existing.some(({ file }) => file === name)
  return isTaken ? `${name}-${existing.length}` : name
}

interface RewriteContext {
  readonly inputs: ClientInputs
  /** Disables the entry, which cannot run unchanged. */
  disable(): void
  note(text: string): void
}

type PlaceholderRewriter = (text: string, filling: RewriteContext) => string

function rewriteBraces(text: string, filling: RewriteContext): string {
  return text.replace(
    /(\$\{\{[^}]*\}\})|\$\{([^}]*)(\}|$)/g,
    (placeholder, expression?: string, inside: string = '', end: string = '') =>
      expression !== undefined || end === ''
        ? rewriteUnsupported(placeholder, filling)
        : rewriteExpression(placeholder, inside, filling),
  )
}

/** Client environment expression; its default is plain text. */
const VARIABLE_EXPRESSION = /^(?:env:)?[A-Za-z_]\w*(?::[-?].*)?$/s

/** Placeholders that only a client can resolve. */
const UNSUPPORTED_PLACEHOLDER = /^\$\{(\{|(config|command):)/

const FIXED_PLACEHOLDERS: ReadonlyMap<string, string> = new Map([
  ['userHome', '${HOME}'],
  ['pathSeparator', '/'],
  ['/', '/'],
])

/** Escapes an unsupported placeholder, so that it runs no program and reads no file. */
function rewriteUnsupported(placeholder: string, { note, disable }: RewriteContext): string {
  if (UNSUPPORTED_PLACEHOLDER.test(placeholder)) {
    note(`${placeholder} cannot be resolved here: set a value or a variable, and remove "enabled"`)
    disable()
  } else note(`${placeholder} is plain text here, since the client does not resolve it`)
  return escapePlaceholders(placeholder)
}

function rewriteExpression(placeholder: string, inside: string, filling: RewriteContext): string {
  const [kind = '', name = ''] = inside.split(/:(?![-?])/, 2)
  if (kind === 'workspaceFolder' || kind === 'workspaceRoot') {
    filling.note(`${placeholder} became ".", the directory of gateway.yaml`)
    return '.'
  }
  const fixed = FIXED_PLACEHOLDERS.get(inside)
  if (fixed !== undefined) return fixed
  if (kind === 'input' && !inside.includes('${')) return rewriteInput(placeholder, name, filling)
  return VARIABLE_EXPRESSION.test(inside)
    ? `\${${escapePlaceholders(inside)}}`
    : rewriteUnsupported(placeholder, filling)
}

function rewriteInput(placeholder: string, name: string, { note, inputs }: RewriteContext): string {
  const variable = toVariableName(name)
  const { fallback, suffix } = getInputDefault(inputs.get(name))
  note(`${placeholder}, an input of the client, became the variable ${variable}${suffix}`)
  return `\${${variable}${fallback}}`
}

/** Formats an input's default. Skips secrets, and values with braces, which cannot be escaped. */
function getInputDefault(input: JsonObject = {}): { readonly fallback: string; readonly suffix: string } {
  const { default: proposed, password } = input
  if (proposed === undefined || proposed === null) return { fallback: '', suffix: '' }
  const isPlain = typeof proposed !== 'object' && !/[{}]/.test(String(proposed))
  return isPlain && password !== true
    ? { fallback: `:-${String(proposed)}`, suffix: ', with its default' }
    : { fallback: '', suffix: ', without its default' }
}

function toVariableName(name: string): string {
  return name
    .replace(/\W+/g, '_')
    .replace(/^(?=\d)/, '_')
    .toUpperCase()
    .replace(/^$/, 'INPUT')
}
