type Value = unknown

interface StyledParameter {
  readonly name: string
  readonly style: string
  readonly explode: boolean
  /** Encodes a text for its location. */
  readonly encode: (text: string) => string
}

const SEPARATORS: Readonly<Record<string, string>> = {
  form: ',',
  simple: ',',
  spaceDelimited: '%20',
  tabDelimited: '%09',
  pipeDelimited: '%7C',
}
/** Maximum `deepObject` nesting. */
const MAX_DEPTH = 16

/** Formats a value as encoded query or form pairs. */
export function formatPairs(value: Value, written: StyledParameter): string[] {
  const { name, style, explode, encode } = written
  const key = encode(name)
  if (style === 'deepObject' && typeof value === 'object' && value !== null)
    return formatDeepPairs(value, key, encode, 0)
  if (typeof value !== 'object' || value === null) return [`${key}=${encode(stringifyValue(value))}`]
  if (!Array.isArray(value)) {
    const texts = formatMap(value, explode, encode)
    return explode ? texts : joinPair(key, texts, style)
  }
  const texts = value.map(one => encode(stringifyValue(one)))
  return explode && style === 'form' ? texts.map(text => `${key}=${text}`) : joinPair(key, texts, style)
}

function joinPair(key: string, texts: readonly string[], style: string): string[] {
  return texts.length === 0 ? [] : [`${key}=${texts.join(SEPARATORS[style] ?? ',')}`]
}

/** Formats `filter[created][gte]=1`, and `filter[0]=a` for lists. */
function formatDeepPairs(value: object, key: string, encode: StyledParameter['encode'], depth: number): string[] {
  if (depth > MAX_DEPTH) throw new Error(`it is nested deeper than ${MAX_DEPTH} levels`)
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    const nested = `${key}[${encode(name)}]`
    return typeof inner === 'object' && inner !== null
      ? formatDeepPairs(inner, nested, encode, depth + 1)
      : [`${nested}=${encode(stringifyValue(inner))}`]
  })
}

/** Formats a value for a path segment or header. */
export function formatPiece(value: Value, { name, style, explode, encode }: StyledParameter): string {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
  const texts = isMap ? formatMap(value, explode, encode) : [value].flat().map(one => encode(stringifyValue(one)))
  if (style === 'label') return `.${texts.join(explode ? '.' : ',')}`
  if (style !== 'matrix') return texts.join(',')
  const key = encode(name)
  if (!explode) return `;${key}=${texts.join(',')}`
  return texts.map(text => (isMap ? `;${text}` : `;${key}=${text}`)).join('')
}

function formatMap(value: object, explode: boolean, encode: StyledParameter['encode']): string[] {
  const entries = Object.entries(value).map(([name, inner]) => [encode(name), encode(stringifyValue(inner))] as const)
  return explode ? entries.map(([name, text]) => `${name}=${text}`) : entries.flat()
}

/** Converts a value to text; objects become JSON. */
export function stringifyValue(value: Value): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Encodes all but letters, digits and `-_.~`. */
export function encodeStrict(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** Leaves the `allowReserved` characters unencoded, except those that would end a value. */
export function encodeReserved(text: string): string {
  return encodeStrict(text).replace(/%(3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/g, code => decodeURIComponent(code))
}
