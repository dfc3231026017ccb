import { mapAt, textAt } from '../../../src/plugin.ts'
import type { Plain, References, SecurityScheme } from './types.ts'

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** The security schemes of a document, by name; those that nobody can put on a request are left out. */
export function schemesIn(document: Plain, references: References): ReadonlyMap<string, SecurityScheme> {
  const schemes = {
    ...mapAt(document, 'securityDefinitions'),
    ...mapAt(document, 'components', 'securitySchemes'),
  }
  const found = Object.entries(schemes).flatMap(([name, given]) => {
    const scheme = schemeOf(references.follow(given))
    return scheme === undefined ? [] : [[name, scheme] as const]
  })
  return new Map(found)
}

/** Kinds by type, and for `http` by scheme. */
const KINDS: ReadonlyMap<string, 'basic' | 'bearer'> = new Map([
  ['basic', 'basic'],
  ['http basic', 'basic'],
  ['http bearer', 'bearer'],
  ['oauth2', 'bearer'],
  ['openIdConnect', 'bearer'],
])

function schemeOf(given: unknown): SecurityScheme | undefined {
  const type = textAt(given, 'type')
  const scheme = type === 'http' ? ` ${textAt(given, 'scheme')?.toLowerCase() ?? ''}` : ''
  const kind = KINDS.get(`${type ?? ''}${scheme}`)
  if (kind !== undefined) return { kind }
  return type === 'apiKey' ? keyOf(textAt(given, 'in'), textAt(given, 'name') ?? '') : undefined
}

function keyOf(place: string | undefined, name: string): SecurityScheme | undefined {
  if (place === 'query') return { kind: 'apiKey', in: place, name }
  const isIn = place === 'header' || place === 'cookie'
  return isIn && TOKEN.test(name) ? { kind: 'apiKey', in: place, name } : undefined
}
