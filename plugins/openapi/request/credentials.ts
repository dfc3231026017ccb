import type { Place, Requirements, SecurityScheme } from '../document/types.ts'

/** Credentials of one request, by the place that they go into. */
export type Credentials = Readonly<Record<'header' | 'query' | 'cookie', Readonly<Record<string, string>>>>

interface Known {
  readonly schemes: ReadonlyMap<string, SecurityScheme>
  /** Values of the configuration, by scheme. */
  readonly values: Readonly<Record<string, string>>
}

/**
 * Credentials that an operation wants, of those configured: the first alternative that is there in full. Where nobody says what is
 * wanted, all goes along; to an operation that is open, nothing does.
 */
export function credentialsFor(security: Requirements | undefined, { schemes, values }: Known): Credentials {
  const given = Object.keys(values)
  const wanted =
    security === undefined
      ? given
      : security.find(names => names.length > 0 && names.every(name => given.includes(name)))
  const found: Record<'header' | 'query' | 'cookie', Record<string, string>> = {
    header: {},
    query: {},
    cookie: {},
  }
  for (const name of wanted ?? []) {
    const scheme = schemes.get(name)
    const value = values[name]
    if (scheme === undefined || value === undefined) continue
    const [place, key, text] = placed(scheme, value)
    if (place !== 'path') found[place][key] = text
  }
  return found
}

function placed(scheme: SecurityScheme, value: string): readonly [Place, string, string] {
  switch (scheme.kind) {
    case 'apiKey':
      return [scheme.in, scheme.in === 'header' ? scheme.name.toLowerCase() : scheme.name, value]
    case 'basic':
      return ['header', 'authorization', `Basic ${Buffer.from(value).toString('base64')}`]
    case 'bearer':
      return ['header', 'authorization', `Bearer ${value}`]
  }
}
