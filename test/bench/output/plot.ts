/** Small line plots, as SVG without anything but shapes and text. */

export interface Series {
  readonly label: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

export interface Plot {
  readonly title: string
  readonly x: string
  readonly y: string
  /** Says whether x grows by factors; 0 is not to be shown then. */
  readonly isLogarithmic?: boolean
  readonly series: readonly Series[]
}

const WIDTH = 480
const HEIGHT = 280
const BOX = { left: 56, right: WIDTH - 110, top: 40, bottom: HEIGHT - 46 }
const COLOURS = ['#0b6e4f', '#c8553d', '#33658a', '#8d6a9f', '#5c5c5c']
const LABEL_GAP = 14

/** The whole file. Ordinates begin at 0, so that heights can be compared. */
export function plotOf({ title, x, y, isLogarithmic = false, series }: Plot): string {
  const scale = isLogarithmic ? Math.log : (value: number): number => value
  const xs = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b)
  const first = xs[0] ?? 0
  const last = xs.at(-1) ?? 1
  const ticks = niceTicks(Math.max(...series.flatMap(({ points }) => points.map(([, value]) => value))))
  const top = ticks.at(-1) ?? 1
  const across = (at: number): number =>
    between(BOX.left, BOX.right, (scale(at) - scale(first)) / (scale(last) - scale(first) || 1))
  const up = (value: number): number => between(BOX.bottom, BOX.top, value / top)
  return svg([
    text(BOX.left, 22, title, 'font-size="14" font-weight="bold"'),
    ...ticks.flatMap(tick => [
      `<line x1="${BOX.left}" x2="${BOX.right}" y1="${up(tick)}" y2="${up(tick)}" stroke="#ddd"/>`,
      text(BOX.left - 6, up(tick) + 4, tick.toLocaleString('en'), 'text-anchor="end"'),
    ]),
    ...labelled(xs, across).map(at =>
      text(across(at), BOX.bottom + 16, at.toLocaleString('en'), 'text-anchor="middle"'),
    ),
    text((BOX.left + BOX.right) / 2, HEIGHT - 10, x, 'text-anchor="middle"'),
    text(0, 0, y, `text-anchor="middle" transform="translate(14 ${(BOX.top + BOX.bottom) / 2}) rotate(-90)"`),
    ...series.map(({ points }, nth) =>
      lineOf(
        points.map(([at, value]) => [across(at), up(value)]),
        colour(nth),
      ),
    ),
    ...endLabels(series, up).map(({ label, at, nth }) =>
      text(BOX.right + 8, at + 4, label, `fill="${colour(nth)}"`),
    ),
  ])
}

function svg(parts: readonly string[]): string {
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="11">`
  return [head, `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`, ...parts, '</svg>', ''].join('\n')
}

function text(x: number, y: number, words: string, more: string): string {
  const escaped = words.replace(/&/g, '&amp;').replace(/</g, '&lt;')
  return `<text x="${short(x)}" y="${short(y)}" ${more}>${escaped}</text>`
}

function lineOf(points: readonly (readonly [number, number])[], stroke: string): string {
  const path = points.map(([x, y]) => `${short(x)},${short(y)}`).join(' ')
  const dots = points.map(([x, y]) => `<circle cx="${short(x)}" cy="${short(y)}" r="3" fill="${stroke}"/>`)
  return `<polyline points="${path}" fill="none" stroke="${stroke}" stroke-width="2"/>${dots.join('')}`
}

/** Beside the last point of each, moved apart where they would cover each other. */
function endLabels(
  series: readonly Series[],
  up: (value: number) => number,
): readonly { label: string; at: number; nth: number }[] {
  const ends = series.map(({ label, points }, nth) => ({ label, nth, at: up(points.at(-1)?.[1] ?? 0) }))
  const sorted = ends.toSorted((a, b) => b.at - a.at)
  let ceiling = Infinity
  return sorted.map(end => {
    const at = Math.min(end.at, ceiling)
    ceiling = at - LABEL_GAP
    return { ...end, at }
  })
}

/** Without those that would stand in each other. */
function labelled(xs: readonly number[], across: (at: number) => number): readonly number[] {
  let last = -Infinity
  return xs.filter(at => {
    if (across(at) - last < 28) return false
    last = across(at)
    return true
  })
}

/** Four or five round numbers from 0 to at least `most`. */
export function niceTicks(most: number): readonly number[] {
  const rough = Math.max(most, 1e-9) / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = power * ([1, 2, 2.5, 5, 10].find(factor => factor * power >= rough) ?? 10)
  const count = Math.ceil(most / step)
  return Array.from({ length: count + 1 }, (_, nth) => Number((nth * step).toPrecision(6)))
}

function between(from: number, to: number, share: number): number {
  return short(from + (to - from) * share)
}

function short(value: number): number {
  return Math.round(value * 10) / 10
}

function colour(nth: number): string {
  return COLOURS[nth % COLOURS.length] ?? '#000'
}
