import { setTimeout as pause } from 'node:timers/promises'

export async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + BACK_MS
  while (!holds() && performance.now() < end) await pause(20)
}

/** Longest that anything is waited for. */
export const BACK_MS = 120_000
