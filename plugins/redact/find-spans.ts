/** Detector finding. */
export interface Span {
  readonly from: number
  readonly to: number
  readonly detector: string
}

/** Finds sensitive data in a text in linear time. */
export interface Detector {
  readonly name: string
  findSpans(text: string): Span[]
  /** True to check JSON numbers too. */
  readonly checksNumbers?: boolean
  /** Returns a finding's masked form. */
  mask(value: string): string
}

/** Sorts spans and merges overlapping ones under the name of the first. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const inOrder = [...spans].sort((a, b) => a.from - b.from || b.to - a.to)
  const retained: Span[] = []
  for (const span of inOrder) {
    const last = retained.at(-1)
    if (last === undefined || span.from >= last.to) retained.push(span)
    else if (span.to > last.to) retained[retained.length - 1] = { ...last, to: span.to }
  }
  return retained
}

/** Matches a pattern that has the flag `g`. */
export function findMatches(text: string, pattern: RegExp, detector: string): Span[] {
  const spans: Span[] = []
  for (const match of text.matchAll(pattern))
    spans.push({ from: match.index, to: match.index + match[0].length, detector })
  return spans
}

/** Characters searched in one step. */
const WINDOW_LENGTH = 32 * 1024
/** Context before a window, which decides whether a match begins in it, and after it, where a match may end. */
const WINDOW_LOOKBEHIND = 256
const WINDOW_LOOKAHEAD = 8 * 1024

/** True if a text is searched in one step. */
export function isShort(text: string): boolean {
  return text.length <= WINDOW_LENGTH + WINDOW_LOOKAHEAD
}

/**
 * Searches a text in windows of a few milliseconds each; a match that reaches the end of its window gets a larger
 * one.
 */
export function* findInWindows<T extends { readonly from: number; readonly to: number }>(
  text: string,
  find: (text: string) => readonly T[],
): Generator<void, readonly T[]> {
  if (isShort(text)) return find(text)
  const all: T[] = []
  let size = WINDOW_LENGTH
  for (let from = 0; from < text.length; from += size) {
    size = WINDOW_LENGTH
    let spans = findInWindow(text, from, size, find)
    for (; spans.some(({ to }) => to >= from + size + WINDOW_LOOKAHEAD && to < text.length); size *= 2) {
      yield
      spans = findInWindow(text, from, size * 2, find)
    }
    for (const one of spans) all.push(one)
    yield
  }
  return all
}

function findInWindow<T extends { readonly from: number; readonly to: number }>(
  text: string,
  from: number,
  size: number,
  find: (text: string) => readonly T[],
): readonly T[] {
  const start = Math.max(0, from - WINDOW_LOOKBEHIND)
  return find(text.slice(start, from + size + WINDOW_LOOKAHEAD))
    .map(one => ({ ...one, from: one.from + start, to: one.to + start }))
    .filter(one => one.from >= from && one.from < from + size)
}
