const LONG_MS = 2 ** 30

/** Keeps the process from ending while something is awaited: the gateway's own timers never do. Returns the way to take it back. */
export function stayAlive(): () => void {
  const timer = setInterval(() => {}, LONG_MS)
  return () => clearInterval(timer)
}
