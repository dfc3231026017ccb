import { pointerFits } from '../util/finding.ts'
import { BOOLEAN_PATHS, NUMBER_PATHS, SECRET_PATHS, TYPES } from './keys.gen.ts'

/** True if the value at a pointer is never shown. */
export function isSecretPath(pointer: string): boolean {
  return fitsOne(pointer, SECRET_PATHS)
}

/** A text as the number or boolean that its key takes, where it looks like one. */
export function coerce(text: string, pointer: string): string | number | boolean {
  if (/^-?\d{1,15}$/.test(text) && fitsOne(pointer, NUMBER_PATHS)) return Number(text)
  if (/^(true|false)$/.test(text) && fitsOne(pointer, BOOLEAN_PATHS)) return text === 'true'
  return text
}

/** Values that `type` may have at a pointer. */
export function typesAt(pointer: string): readonly string[] {
  return Object.entries(TYPES).find(([pattern]) => pointerFits(pointer, pattern))?.[1] ?? []
}

function fitsOne(pointer: string, patterns: ReadonlySet<string>): boolean {
  for (const pattern of patterns) if (pointerFits(pointer, pattern)) return true
  return false
}

/** True if a schema marks its values as secret: `x-secret`, `writeOnly`, or of the format `password`. */
export function isSecretBy(schema: Readonly<Record<string, unknown>> | undefined): boolean {
  return schema?.['x-secret'] === true || schema?.writeOnly === true || schema?.format === 'password'
}
