type CollectGarbage = () => void

let collect: CollectGarbage | undefined

/** Collects all garbage through a V8 flag, as there is no function; returns false if unavailable. */
export function collectGarbage(): boolean {
  collect ??= getCollector()
  collect?.()
  return collect !== undefined
}

function getCollector(): CollectGarbage | undefined {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  setFlagsFromString('--expose-gc')
  const gc: unknown = process.getBuiltinModule('node:vm').runInNewContext('globalThis.gc')
  setFlagsFromString('--no-expose-gc')
  return typeof gc === 'function' ? (gc as CollectGarbage) : undefined
}
