import type { EncodedRun } from './encodings.ts'
import { findEncodedRuns, decodeEscapes } from './encodings.ts'
import { isJsonText, rewriteJson } from './json-text.ts'
import { isCard } from './secret-detectors.ts'
import type { Detector, Span } from './find-spans.ts'
import { findInWindows, isShort, mergeSpans } from './find-spans.ts'

/** Action for a finding. */
export type Action = 'replace' | 'mask' | 'refuse'

/** Finding counts by detector. */
export type FindingCounts = Map<string, number>

/** Maximum depth for encodings within encodings. */
const MAX_ENCODING_DEPTH = 3

/** No detector matches a shorter text. */
const MIN_TEXT_LENGTH = 6

const NO_PATHS: ReadonlySet<string> = new Set()

interface Replacement {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** Text with some escape layers removed, and a map back to the original offsets. */
interface Layer {
  readonly text: string
  readonly toOffset: (offset: number) => number
}

/** Encoded run in one layer. */
type LocatedRun = EncodedRun & Pick<Layer, 'toOffset'>

/** Replaces, masks or refuses detector findings, also in escaped and encoded text. */
export class Redactor {
  readonly action: Action
  readonly #detectors: readonly Detector[]
  readonly #byName: ReadonlyMap<string, Detector>

  constructor(detectors: readonly Detector[], action: Action) {
    this.action = action
    this.#detectors = detectors
    this.#byName = new Map(detectors.map(detector => [detector.name, detector]))
  }

  /** Redacts a text; returns the same text if nothing was found. JSON stays valid JSON. */
  *redactText(text: string, tally: FindingCounts, depth = 0): Generator<void, string> {
    if (text.length < MIN_TEXT_LENGTH) return text
    if (depth < MAX_ENCODING_DEPTH && isJsonText(text)) return yield* this.redactJson(text, tally, NO_PATHS, depth + 1)
    const spans: Span[] = []
    const runs: LocatedRun[] = []
    for (const layer of yield* decodeLayers(text)) {
      yield* this.#findSpans(layer, spans)
      if (depth >= MAX_ENCODING_DEPTH) continue
      for (const run of yield* findEncodedRuns(layer.text)) runs.push({ ...run, toOffset: layer.toOffset })
    }
    if (spans.length === 0 && runs.length === 0) return text
    return yield* this.#replaceFindings(text, mergeSpans(spans), runs, tally, depth)
  }

  *#findSpans({ text, toOffset }: Layer, spans: Span[]): Generator<void, void> {
    for (const one of this.#detectors) {
      const found = isShort(text) ? one.findSpans(text) : yield* findInWindows(text, part => one.findSpans(part))
      for (const { from, to, detector } of found) spans.push({ from: toOffset(from), to: toOffset(to), detector })
    }
  }

  /** Redacts strings, names and numbers in a JSON text; other numbers keep their text. */
  *redactJson(
    json: string,
    tally: FindingCounts,
    exemptPaths: ReadonlySet<string> = NO_PATHS,
    depth = 0,
  ): Generator<void, string> {
    let names = 0
    const { text, number } = { text: this.redactText.bind(this), number: this.#redactNumber.bind(this) }
    return yield* rewriteJson(json, {
      exemptPaths,
      string: value => text(value, tally, depth),
      // Number redacted names, so that two do not collide.
      *name(value) {
        const name = yield* text(value, tally, depth)
        return name === value || names++ === 0 ? name : `${name} ${names}`
      },
      number: value => number(value, tally),
    })
  }

  #redactNumber(text: string, tally: FindingCounts): string {
    for (const { name, checksNumbers, findSpans } of this.#detectors) {
      if (checksNumbers !== true || !(name === 'card' ? isCard(text) : findSpans(text).length > 0)) continue
      countFinding(tally, name)
      return '0'
    }
    return text
  }

  *#replaceFindings(
    text: string,
    spans: readonly Span[],
    runs: readonly LocatedRun[],
    tally: FindingCounts,
    depth: number,
  ): Generator<void, string> {
    const isTaken = new Uint8Array(runs.length === 0 ? 0 : text.length)
    const changes: Replacement[] = []
    for (const { from: start, to, detector } of spans) {
      countFinding(tally, detector)
      const from = findReplacementStart(text, start)
      isTaken.fill(1, from, to)
      changes.push({ from, to, text: this.#getReplacement(text.slice(from, to), detector) })
      yield
    }
    for (const run of runs) {
      const [from, to] = [run.toOffset(run.from), run.toOffset(run.to)]
      if (isTaken.subarray(from, to).includes(1)) continue
      const decoded = yield* this.redactText(run.decoded, tally, depth + 1)
      yield
      if (decoded === run.decoded) continue
      const start = text.slice(from, run.toOffset(run.from + run.skipped))
      isTaken.fill(1, from, to)
      changes.push({ from, to, text: start + run.encode(decoded) })
    }
    return applyReplacements(text, changes)
  }

  #getReplacement(value: string, detector: string): string {
    if (this.action !== 'mask') return `[redacted:${detector}]`
    return this.#byName.get(detector)?.mask(toPlainText(value)) ?? '****'
  }
}

/** Returns the text, and the text without escapes if it has any. */
function* decodeLayers(text: string): Generator<void, Layer[]> {
  const decoded = yield* decodeEscapes(text)
  const plain = { text, toOffset: (offset: number) => offset }
  return decoded === undefined ? [plain] : [plain, { text: decoded.text, toOffset: decoded.sourceOffset }]
}

/** Moves a start out of the middle of an escape: after a line-break escape, else before the backslash. */
function findReplacementStart(text: string, from: number): number {
  let slashes = 0
  while (text.charAt(from - 1 - slashes) === '\\') slashes++
  if (slashes % 2 === 0) return from
  return 'nrtbf'.includes(text.charAt(from)) ? from + 1 : from - 1
}

/** Runs the work to completion without yielding. */
export function runToCompletion<T>(work: Generator<void, T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

function countFinding(tally: FindingCounts, detector: string): void {
  tally.set(detector, (tally.get(detector) ?? 0) + 1)
}

/** Removes escapes, so that a mask uses the letters themselves. */
function toPlainText(value: string): string {
  return (runToCompletion(decodeLayers(value)).at(-1)?.text ?? value).replace(/["\\]/g, '')
}

function applyReplacements(text: string, changes: readonly Replacement[]): string {
  let changed = ''
  let done = 0
  for (const { from, to, text: put } of [...changes].sort((a, b) => a.from - b.from)) {
    if (from < done) continue
    changed += text.slice(done, from) + put
    done = to
  }
  return changed + text.slice(done)
}
