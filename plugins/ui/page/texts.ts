/** Texts that people read of numbers and times. */

export function count(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
}

export function bytes(value: number): string {
  if (value < 1024) return `${Math.round(value)} B`
  const [small, large] = [value / 1024, value / 1024 / 1024]
  if (large >= 1024) return `${(large / 1024).toFixed(1)} GiB`
  return large >= 1 ? `${large.toFixed(large < 10 ? 1 : 0)} MiB` : `${small.toFixed(small < 10 ? 1 : 0)} KiB`
}

export function duration(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`
  if (ms < 10) return `${ms.toFixed(1)} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = ms / 1000
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`
}

export function ago(at: number): string {
  const ms = Date.now() - at
  if (ms < 2000) return 'now'
  return ms < 60_000 ? `${Math.floor(ms / 1000)} s ago` : `${duration(ms)} ago`
}

export function time(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB')
}

/** JSON as people read it; a text that is none as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
