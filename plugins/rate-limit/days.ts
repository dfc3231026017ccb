export const DAY_MS = 86_400_000

/** Formats a day in UTC, such as `2026-11-23`. */
export function formatDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}

export function getMsUntilTomorrow(now: number): number {
  return DAY_MS - (now % DAY_MS)
}
