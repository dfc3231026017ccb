export const DAY_MS = 86_400_000

/** Milliseconds until the next day begins (UTC). */
export function untilTomorrow(now: number): number {
  return DAY_MS - (now % DAY_MS)
}
