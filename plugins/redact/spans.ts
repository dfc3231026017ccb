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
