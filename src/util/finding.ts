import { decodePercent } from './plain-text.ts'
import { suggestName } from './suggest.ts'

/** Error or warning in a configuration, with its location. */
export interface Finding {
  /** JSON pointer, such as `/upstreams/files/prefix`. */
  readonly pointer: string
  /** Problem: `there is no upstream "flies"`. */
  readonly message: string
  /** Fix: `did you mean "files"?` */
  readonly hint?: string | undefined
  /** Default: `error`, which prevents the start. */
  readonly severity?: 'error' | 'warning'
  /** Marks the key instead of its value. */
  readonly on?: 'key'
}

/** Receives findings. */
export type Report = (finding: Finding) => void

/** Reports an unknown name with the most similar known one; returns true if it is known. */
export function checkKnownName(
  name: unknown,
  expected: {
    readonly what: string
    readonly names: readonly string[]
    readonly severity?: 'error' | 'warning'
  },
  pointer: string,
  report: Report,
): boolean {
  const { what, names, severity = 'error' } = expected
  if (typeof name !== 'string' || names.includes(name)) return true
  report({ pointer, message: `no ${what} "${name}"`, hint: suggestName(name, names), severity })
  return false
}

/** TLS settings that require each other. */
const PAIRS = { cert: 'key', key: 'cert', passphrase: 'key' } as const

/** Reports each `tls` setting without the one that it requires. */
export function checkKeyPair(tls: Readonly<Record<string, unknown>>, pointer: string, report: Report): void {
  for (const [one, required] of Object.entries(PAIRS))
    if (tls[one] !== undefined && tls[required] === undefined)
      report({
        pointer: `${pointer}/${one}`,
        message: `"${one}" requires "${required}"`,
        hint: `add "${required}"`,
      })
}

/** Appends a key to a JSON pointer. */
export function appendPointer(parent: string, key: string | number): string {
  return `${parent}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** Splits a JSON pointer into keys. */
export function parsePointer(pointer: string): string[] {
  const keys = pointer.split('/').slice(1)
  return keys.map(key => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Resolves a reference such as `#/$defs/User`; undefined if missing. */
export function resolveReference(reference: string, document: unknown): unknown {
  return resolvePointer(decodePercent(reference.slice(1)), document)
}

/** Finds the value at a JSON pointer; undefined if missing. Reads own members only. */
export function resolvePointer(pointer: string, document: unknown): unknown {
  let value = document
  for (const key of parsePointer(pointer)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[key]
  }
  return value
}

/** Returns a JSON pointer's parent; the root is its own parent. */
export function pointerParent(pointer: string): string {
  return pointer.slice(0, Math.max(0, pointer.lastIndexOf('/')))
}

/**
 * Returns true if a pointer matches a pattern, in which `*` is any one key. Allocation-free, as each value is matched
 * against each pattern.
 */
export function pointerFits(pointer: string, pattern: string): boolean {
  let at = 0
  for (let i = 0; i < pattern.length; i++) {
    if (isAnyKey(pattern, i)) {
      const end = pointer.indexOf('/', at)
      at = end < 0 ? pointer.length : end
    } else if (pattern.charCodeAt(i) !== pointer.charCodeAt(at++)) return false
  }
  return at === pointer.length
}

function isAnyKey(pattern: string, i: number): boolean {
  if (pattern[i] !== '*' || pattern[i - 1] !== '/') return false
  return i + 1 === pattern.length || pattern[i + 1] === '/'
}
