type Collect = () => void

let collect: Collect | undefined

/** Collects all garbage. V8 has a flag for it, but no function; false where it gives none. */
export function collectGarbage(): boolean {
  collect ??= fullCollection()
  collect?.()
  return collect !== undefined
}

function fullCollection(): Collect | undefined {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  setFlagsFromString('--expose-gc')
  const gc: unknown = process.getBuiltinModule('node:vm').runInNewContext('globalThis.gc')
  setFlagsFromString('--no-expose-gc')
  return typeof gc === 'function' ? (gc as Collect) : undefined
}
