/** What a state does at one place of the text. */
export interface State {
  /** States that are reached without taking anything. */
  readonly free: (before: string, after: string) => readonly number[]
  /** Whether it takes this character, and is followed by `next` then. */
  readonly takes: (character: string) => boolean
  next: number
  readonly isEnd: boolean
}

export const NOTHING: readonly number[] = []
export const takesNothing = (): boolean => false

export interface Machine {
  readonly states: readonly State[]
  readonly start: number
}

/** Walks all ways side by side, so that the time is linear in the text. */
export function matches({ states, start }: Machine, text: string): boolean {
  const seenAt = new Int32Array(states.length).fill(-1)
  let current: number[] = []
  for (let at = 0; at <= text.length; at++) {
    const [before, after] = [text.charAt(at - 1), text.charAt(at)]
    const open = current
    open.push(start)
    const next: number[] = []
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      const state = states[index]
      if (state === undefined || seenAt[index] === at) continue
      seenAt[index] = at
      if (state.isEnd) return true
      for (const free of state.free(before, after)) open.push(free)
      if (state.takes(after)) next.push(state.next)
    }
    current = next
  }
  return false
}
