const SMALL = 10

/** One figure of the proof. */
export interface Figure {
  readonly what: string
  readonly value: string
  readonly unit?: string
  /** In words. */
  readonly target?: string
  readonly isMet: boolean
  /** True for a target that is known to be out of reach. */
  readonly isOptional?: boolean
}

/** A share that should be at least so large. */
export function share(what: string, value: number, least?: number, isOptional = false): Figure {
  const target = least === undefined ? {} : { target: `≥ ${least.toFixed(2)}` }
  return {
    what,
    value: value.toFixed(3),
    ...target,
    isMet: least === undefined || value >= least,
    isOptional,
  }
}

/** A number that should be at most so large. */
export function atMost(what: string, value: number, most: number, unit: string): Figure {
  const digits = most < SMALL ? 2 : 0
  return { what, value: value.toFixed(digits), unit, target: `≤ ${most} ${unit}`, isMet: value <= most }
}

/** Processor time, which says as much about the machine and its other work as about ours: it is told, and no fault. */
export function time(what: string, ms: number, most: number): Figure {
  return { ...atMost(what, ms, most, 'ms'), isOptional: true }
}
