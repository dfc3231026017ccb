import type { Run } from './encodings.ts'
import { encodedRuns, unescaped } from './encodings.ts'
import { isJsonText, withStrings } from './json-text.ts'
import { isCard } from './personal.ts'
import { runToCompletion } from '../../src/plugin.ts'
import type { Detector, Span } from './spans.ts'
import { findInWindows, merged } from './spans.ts'

/** Action on what is found. */
export type Action = 'replace' | 'mask' | 'refuse'

/** Finds by detector. */
export type Tally = Map<string, number>

/** Layers of escapes that are taken off, and encodings inside encodings that are looked into. */
const MAX_LAYERS = 5
const MAX_DEPTH = 3

/** Shorter texts hold nothing that any detector finds. */
const SHORTEST = 6

const NOTHING: ReadonlySet<string> = new Set()

/** Part of a text with what takes its place. */
interface Change {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** A text with some layers of escapes taken off, and the way back to places in the text itself. */
interface Layer {
  readonly text: string
  readonly at: (place: number) => number
}

/** A run of encoded text in one of the layers. */
type PlacedRun = Run & Pick<Layer, 'at'>

/** Takes out of texts what its detectors find, in any of the forms that texts are written in. */
export class Redactor {
  readonly action: Action
  readonly #detectors: readonly Detector[]
  readonly #byName: ReadonlyMap<string, Detector>

  constructor(detectors: readonly Detector[], action: Action) {
    this.action = action
    this.#detectors = detectors
    this.#byName = new Map(detectors.map(detector => [detector.name, detector]))
  }

  /** Names of its detectors. */
  get names(): readonly string[] {
    return [...this.#byName.keys()]
  }

  /** The text without what was found, the same one where nothing was. JSON in it stays JSON. */
  *text(text: string, tally: Tally, depth = 0): Generator<void, string> {
    if (text.length < SHORTEST) return text
    if (depth < MAX_DEPTH && isJsonText(text)) return yield* this.json(text, tally, NOTHING, depth + 1)
    const found: Span[] = []
    const runs: PlacedRun[] = []
    for (const layer of yield* layersOf(text)) {
      yield* this.#find(layer, found)
      if (depth >= MAX_DEPTH) continue
      for (const run of yield* encodedRuns(layer.text)) runs.push({ ...run, at: layer.at })
    }
    if (found.length === 0 && runs.length === 0) return text
    return yield* this.#changed(text, merged(found), runs, tally, depth)
  }

  *#find({ text, at }: Layer, spans: Span[]): Generator<void, void> {
    for (const one of this.#detectors)
      for (const { from, to, detector } of yield* findInWindows(text, part => one.find(part)))
        spans.push({ from: at(from), to: at(to), detector })
  }

  /** JSON text without what was found in its strings, names and numbers; every other number keeps its text. */
  *json(
    json: string,
    tally: Tally,
    keeps: ReadonlySet<string> = NOTHING,
    depth = 0,
  ): Generator<void, string> {
    let names = 0
    const { text, number } = { text: this.text.bind(this), number: this.#number.bind(this) }
    return yield* withStrings(json, {
      keeps,
      string: found => text(found, tally, depth),
      // Two names that hold the same kind of thing must not become one.
      *name(found) {
        const name = yield* text(found, tally, depth)
        return name === found || names++ === 0 ? name : `${name} ${names}`
      },
      number: found => number(found, tally),
    })
  }

  #number(text: string, tally: Tally): string {
    for (const { name, checksNumbers, find } of this.#detectors) {
      if (checksNumbers !== true || !(name === 'card' ? isCard(text) : find(text).length > 0)) continue
      count(tally, name)
      return '0'
    }
    return text
  }

  *#changed(
    text: string,
    spans: readonly Span[],
    runs: readonly PlacedRun[],
    tally: Tally,
    depth: number,
  ): Generator<void, string> {
    const isTaken = new Uint8Array(runs.length === 0 ? 0 : text.length)
    const changes: Change[] = []
    for (const { from: found, to, detector } of spans) {
      count(tally, detector)
      const from = startOf(text, found)
      isTaken.fill(1, from, to)
      changes.push({ from, to, text: this.#inPlaceOf(text.slice(from, to), detector) })
      yield
    }
    for (const run of runs) {
      const [from, to] = [run.at(run.from), run.at(run.to)]
      if (isTaken.subarray(from, to).includes(1)) continue
      const decoded = yield* this.text(run.decoded, tally, depth + 1)
      yield
      if (decoded === run.decoded) continue
      const start = text.slice(from, run.at(run.from + run.skipped))
      isTaken.fill(1, from, to)
      changes.push({ from, to, text: start + run.encode(decoded) })
    }
    return withChanges(text, changes)
  }

  #inPlaceOf(found: string, detector: string): string {
    if (this.action !== 'mask') return `[redacted:${detector}]`
    return this.#byName.get(detector)?.mask(plain(found)) ?? '****'
  }
}

/** The text as it is, and then with one layer of escapes after the other taken off. */
function* layersOf(text: string): Generator<void, Layer[]> {
  const layers: Layer[] = [{ text, at: place => place }]
  for (let last = layers[0]; last !== undefined && layers.length < MAX_LAYERS; last = layers.at(-1)) {
    const { at } = last
    const view = yield* unescaped(last.text)
    if (view === undefined) break
    layers.push({ text: view.text, at: place => at(view.source(place)) })
  }
  return layers
}

/** A find that begins in the middle of an escape: a line end stays what it is, and all else goes as a whole. */
function startOf(text: string, from: number): number {
  let slashes = 0
  while (text.charAt(from - 1 - slashes) === '\\') slashes++
  if (slashes % 2 === 0) return from
  return 'nrtbf'.includes(text.charAt(from)) ? from + 1 : from - 1
}

function count(tally: Tally, detector: string): void {
  tally.set(detector, (tally.get(detector) ?? 0) + 1)
}

/** Finding without escapes, so that a mask is made of its letters. */
function plain(found: string): string {
  return (runToCompletion(layersOf(found)).at(-1)?.text ?? found).replace(/["\\]/g, '')
}

function withChanges(text: string, changes: readonly Change[]): string {
  let changed = ''
  let done = 0
  for (const { from, to, text: put } of [...changes].sort((a, b) => a.from - b.from)) {
    if (from < done) continue
    changed += text.slice(done, from) + put
    done = to
  }
  return changed + text.slice(done)
}
