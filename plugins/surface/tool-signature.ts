import type { CatalogEntry, JsonObject } from '../../src/plugin.ts'
import { estimateBytes, isObject, readMap } from '../../src/plugin.ts'

const MAX_LENGTH = 160
/** Schema keywords that a compact schema omits. */
const OMITTED_KEYWORDS: ReadonlySet<string> = new Set(
  'description title default examples example $comment format pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems'.split(
    ' ',
  ),
)

/** Members of `_meta` with the links to a tool's app and its visibility (MCP Apps, OpenAI Apps SDK). */
const APP_KEYS: ReadonlySet<string> = new Set(['ui', 'ui/resourceUri', 'openai/outputTemplate'])

/** Shortens a tool to its first sentence and a schema without texts, which accepts at least the same values. */
export function compactTool(entry: CatalogEntry): CatalogEntry {
  const cached = COMPACT.get(entry)
  if (cached !== undefined) return cached
  const { name, title, annotations, inputSchema, execution, description, _meta } = entry.value
  const value: JsonObject = { name }
  if (title !== undefined) value.title = title
  if (typeof description === 'string') value.description = shortenSentence(description)
  value.inputSchema = compactRootSchema(inputSchema)
  if (annotations !== undefined) value.annotations = annotations
  if (execution !== undefined) value.execution = execution
  const links = Object.entries(readMap(_meta)).filter(([key]) => APP_KEYS.has(key))
  if (links.length > 0) value._meta = Object.fromEntries(links)
  const made = { ...entry, value }
  COMPACT.set(entry, made)
  return made
}

const COMPACT = new WeakMap<CatalogEntry, CatalogEntry>()

/** Returns the first sentence on one line. */
export function extractFirstSentence(text: string): string {
  const start = text.trimStart()
  const [line = ''] = start.split(/\n\s*\n|\r|\n(?=\s*(?:Args|Parameters|Returns|Example|[-*#]))/, 1)
  const end = /[.!?](?=\s|$)|[。！？]/u.exec(line)
  return end === null ? line : line.slice(0, end.index + end[0].length)
}

/** First sentence on one line, with a maximum length. */
function shortenSentence(text: string, longest = MAX_LENGTH): string {
  const line = extractFirstSentence(text).replace(/\s+/g, ' ').trim()
  return line.length <= longest ? line : `${line.slice(0, longest - 1).trimEnd()}…`
}

/** Removes texts and limits from a schema. */
function compactRootSchema(schema: unknown): JsonObject {
  // An object or boolean is the schema for a property with such a name.
  const keepType = (key: string, value: unknown): unknown =>
    OMITTED_KEYWORDS.has(key) && !isObject(value) && typeof value !== 'boolean' ? undefined : value
  const compact = JSON.parse(JSON.stringify(isObject(schema) ? schema : {}, keepType)) as JsonObject
  return { type: 'object', ...compact }
}

/** Maximum tokens per search result. */
const MAX_TOKENS = 125
const MAX_VALUES = 4

/**
 * Formats a tool on one line: `create_issue(repo: string, title: string, labels?: string[]) – Create an issue.`
 * Required arguments always appear; `~` stands for nested ones, `…` for further optional ones.
 */
export function formatSignature(entry: CatalogEntry): string {
  const { value, exposed } = entry
  const mark = isReadOnly(value) ? ' [reads only]' : ''
  const text = typeof value.description === 'string' ? shortenSentence(value.description) : ''
  const maxBytes = estimateBytes(MAX_TOKENS) - Buffer.byteLength(mark)
  const args = listArguments(value.inputSchema)
  const minimalCall = `${exposed}(${args
    .filter(one => one.isRequired)
    .map(one => one.name)
    .join(', ')})`
  const callText = formatCall(
    exposed,
    args,
    Math.max(maxBytes - Buffer.byteLength(text) - 5, maxBytes / 2),
    minimalCall,
  )
  const remainingBytes = maxBytes - Buffer.byteLength(callText) - 5
  const description = remainingBytes < 20 ? '' : clipText(text, remainingBytes)
  return `${callText}${description === '' ? '' : ` – ${description}`}${mark}`
}

/** True for tools annotated as read-only. */
export function isReadOnly({ annotations }: JsonObject): boolean {
  return isObject(annotations) && annotations.readOnlyHint === true
}

interface ToolArgument {
  readonly name: string
  readonly text: string
  readonly isRequired: boolean
}

function listArguments(schema: unknown): ToolArgument[] {
  if (!isObject(schema) || !isObject(schema.properties)) return []
  const required = Array.isArray(schema.required) ? schema.required : []
  const all = Object.entries(schema.properties).map(([name, property]) => {
    const isRequired = required.includes(name)
    return { name, text: `${name}${isRequired ? '' : '?'}: ${formatShortType(property)}`, isRequired }
  })
  return [...all.filter(one => one.isRequired), ...all.filter(one => !one.isRequired)]
}

function formatCall(name: string, args: readonly ToolArgument[], maxBytes: number, minimalCall: string): string {
  const required = args.filter(one => one.isRequired).map(one => one.text)
  const optional = args.filter(one => !one.isRequired).map(one => one.text)
  for (let optionalCount = optional.length; optionalCount >= 0; optionalCount--) {
    const more = optionalCount < optional.length ? ['…'] : []
    const callText = `${name}(${[...required, ...optional.slice(0, optionalCount), ...more].join(', ')})`
    if (Buffer.byteLength(callText) <= maxBytes) return callText
  }
  return minimalCall
}

function formatShortType(schema: unknown): string {
  if (!isObject(schema)) return 'any'
  if (Array.isArray(schema.enum)) return formatValues(schema.enum)
  const { type, items } = schema
  if (type === 'array') return isObject(items) ? `${formatShortType(items)}[]` : 'array'
  if (type === 'object' || isObject(schema.properties)) return '~'
  if (Array.isArray(type)) return type.filter(one => one !== 'null').join('|')
  return typeof type === 'string' ? type : formatAlternatives(schema)
}

function formatAlternatives({ anyOf, oneOf }: JsonObject): string {
  const [forms = []] = [anyOf, oneOf].filter(Array.isArray)
  const kinds = new Set(forms.map(formatShortType).filter(one => one !== 'null'))
  return kinds.size > 0 && kinds.size <= MAX_VALUES ? [...kinds].join('|') : '~'
}

function formatValues(values: readonly unknown[]): string {
  const literals = values.slice(0, MAX_VALUES).map(value => JSON.stringify(value).slice(0, 40))
  return [...literals, ...(values.length > MAX_VALUES ? ['…'] : [])].join('|')
}

function clipText(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  let end = text.length
  while (end > 0 && Buffer.byteLength(text.slice(0, end)) > maxBytes - 3) end--
  return `${text.slice(0, end).trimEnd()}…`
}
