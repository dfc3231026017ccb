/** The JSON pointer one step further down. */
export function pointerTo(parent: string, key: string | number): string {
  return `${parent}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** The keys a JSON pointer goes through. */
export function pointerKeys(pointer: string): string[] {
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
