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

/** Whether a pointer fits a pattern in which `*` stands for any one key. */
export function pointerFits(pointer: string, pattern: string): boolean {
  const keys = pointer.split('/')
  const wanted = pattern.split('/')
  return keys.length === wanted.length && wanted.every((key, i) => key === '*' || key === keys[i])
}
