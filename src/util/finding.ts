import { suggestName } from './suggest.ts'

/** Something wrong, or doubtful, in a configuration, and where in it. */
export interface Finding {
  /** JSON pointer, such as `/upstreams/files/prefix`. */
  readonly pointer: string
  /** Says the problem: `there is no upstream "flies"`. */
  readonly message: string
  /** Says what to do about it: `did you mean "files"?` */
  readonly hint?: string | undefined
  /** Default `error`, with which nothing starts. */
  readonly severity?: 'error' | 'warning'
  /** Point at the key instead of its value. */
  readonly on?: 'key'
}

/** Takes findings as they are made. */
export type Report = (finding: Finding) => void

/** Reports a name that is none of these, with the one that was probably meant; whether it is one. */
export function checkKnownName(
  name: unknown,
  known: {
    readonly what: string
    readonly names: readonly string[]
    readonly severity?: 'error' | 'warning'
  },
  pointer: string,
  report: Report,
): boolean {
  const { what, names, severity = 'error' } = known
  if (typeof name !== 'string' || names.includes(name)) return true
  report({ pointer, message: `there is no ${what} "${name}"`, hint: suggestName(name, names), severity })
  return false
}

/** Settings of TLS that need each other, by the setting that is of no use alone. */
const PAIRS = { cert: 'key', key: 'cert', passphrase: 'key' } as const

/** Reports each setting of a `tls` that stands without the one that it needs. */
export function checkKeyPair(tls: Readonly<Record<string, unknown>>, pointer: string, report: Report): void {
  for (const [one, other] of Object.entries(PAIRS))
    if (tls[one] !== undefined && tls[other] === undefined)
      report({
        pointer: `${pointer}/${one}`,
        message: `"${one}" is of no use without "${other}"`,
        hint: `add "${other}"`,
      })
}

/** The JSON pointer one step further down. */
export function appendPointer(parent: string, key: string | number): string {
  return `${parent}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** The keys a JSON pointer goes through. */
export function parsePointer(pointer: string): string[] {
  const keys = pointer.split('/').slice(1)
  return keys.map(key => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The JSON pointer one step up; the root is its own parent. */
export function pointerParent(pointer: string): string {
  return pointer.slice(0, Math.max(0, pointer.lastIndexOf('/')))
}

/** True when a pointer fits a pattern in which `*` stands for any one key. Allocates nothing: each value is held against each pattern. */
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
