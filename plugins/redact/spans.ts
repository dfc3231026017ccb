/** Place in a text where a detector found something. */
export interface Span {
  readonly from: number
  readonly to: number
  readonly detector: string
}

/** Finds something in a text. Takes time in proportion to its length, whatever it holds. */
export interface Detector {
  readonly name: string
  find(text: string): Span[]
  /** True if numbers of JSON are checked too. */
  readonly checksNumbers?: boolean
  /** The part of a find that may stay where it is masked. */
  mask(found: string): string
}

/** Spans in order, those that touch made one, under the name of the first. */
export function merged(spans: readonly Span[]): Span[] {
  const inOrder = [...spans].sort((a, b) => a.from - b.from || b.to - a.to)
  const kept: Span[] = []
  for (const span of inOrder) {
    const last = kept.at(-1)
    if (last === undefined || span.from >= last.to) kept.push(span)
    else if (span.to > last.to) kept[kept.length - 1] = { ...last, to: span.to }
  }
  return kept
}

/** Every match of a pattern that has the flag `g`. */
export function matches(text: string, pattern: RegExp, detector: string): Span[] {
  const spans: Span[] = []
  for (const match of text.matchAll(pattern))
    spans.push({ from: match.index, to: match.index + match[0].length, detector })
  return spans
}

/** Characters that are searched in one step; a longer text is searched window by window. */
const WINDOW = 32 * 1024
/** Characters before a window, which decide whether something begins in it, and after it, where the find may end. */
const BEFORE = 256
const AFTER = 8 * 1024

/** Finds in a text of any length, in steps of a few milliseconds. A find that reaches the end of its window gets a larger one. */
export function* findInWindows<T extends { readonly from: number; readonly to: number }>(
  text: string,
  find: (text: string) => readonly T[],
): Generator<void, readonly T[]> {
  if (text.length <= WINDOW + AFTER) return find(text)
  const all: T[] = []
  let size = WINDOW
  for (let from = 0; from < text.length; from += size) {
    size = WINDOW
    let found = findFrom(text, from, size, find)
    for (; found.some(({ to }) => to >= from + size + AFTER && to < text.length); size *= 2) {
      yield
      found = findFrom(text, from, size * 2, find)
    }
    for (const one of found) all.push(one)
    yield
  }
  return all
}

function findFrom<T extends { readonly from: number; readonly to: number }>(
  text: string,
  from: number,
  size: number,
  find: (text: string) => readonly T[],
): readonly T[] {
  const start = Math.max(0, from - BEFORE)
  return find(text.slice(start, from + size + AFTER))
    .map(one => ({ ...one, from: one.from + start, to: one.to + start }))
    .filter(one => one.from >= from && one.from < from + size)
}
