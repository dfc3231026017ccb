import type { Terminal } from './terminal.ts'

const INTERVAL_MS = 200

/** Shows a line while the work takes more than a second, and erases it at the end. */
export async function withProgress<T>({ status }: Terminal, describe: () => string, work: Promise<T>): Promise<T> {
  if (status === undefined) return work
  const start = performance.now()
  const getSeconds = (): number => Math.floor((performance.now() - start) / 1000)
  const timer = setInterval(() => getSeconds() >= 1 && status(`${describe()} … ${getSeconds()} s`), INTERVAL_MS)
  return work.finally(() => {
    clearInterval(timer)
    if (getSeconds() >= 1) status('')
  })
}

/** `starting files, memory (1 of 3 ready)` */
export function formatStarting(upstreams: readonly { readonly name: string; readonly state: string }[]): string {
  const names = upstreams.flatMap(({ name, state }) => (state === 'starting' ? [name] : []))
  const ready = upstreams.filter(({ state }) => state === 'ready').length
  return names.length === 0 ? 'starting' : `starting ${names.join(', ')} (${ready} of ${upstreams.length} ready)`
}
