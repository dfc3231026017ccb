import assert from 'node:assert/strict'

/** One family as a scraper reads it. */
export interface ParsedFamily {
  readonly type: string
  readonly samples: {
    readonly name: string
    readonly labels: Record<string, string>
    readonly value: number
  }[]
}

const META = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/
const SAMPLE =
  /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*",?)*)\})? (-?\d+(?:\.\d+)?(?:e[+-]\d+)?)$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\n"])*)"/g
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total'],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
}

/** Reads an exposition, and takes nothing that the format does not have: each family once, in one piece, typed, no series twice. */
export function parseExposition(text: string): Map<string, ParsedFamily> {
  const families = new Map<string, ParsedFamily>()
  const series = new Set<string>()
  let current = ''
  assert.ok(text.endsWith('\n'))
  const lines = text.split('\n').slice(0, -1)
  for (const line of lines) {
    const [, kind, name = '', rest = ''] = META.exec(line) ?? []
    if (kind === 'TYPE') {
      assert.ok(!families.has(name), `${name} is there twice`)
      assert.ok(rest in SUFFIXES, line)
      families.set(name, { type: rest, samples: [] })
      current = name
    } else if (kind === undefined) readSample(line, current, families.get(current), series)
  }
  for (const [name, family] of families) checkFamily(name, family)
  return families
}

function readSample(line: string, current: string, family: ParsedFamily | undefined, series: Set<string>): void {
  const match = SAMPLE.exec(line)
  assert.ok(match !== null && family !== undefined, `not a sample: ${line}`)
  const [name, labelText, value] = [match[1] as string, match[2], Number(match[3])]
  const base = family.type === 'counter' ? current.replace(/_total$/, '') : current
  assert.ok(SUFFIXES[family.type]?.includes(name.slice(base.length)) === true && name.startsWith(base), line)
  const key = line.slice(0, line.lastIndexOf(' '))
  assert.ok(!series.has(key), `twice: ${key}`)
  series.add(key)
  const labels: Record<string, string> = {}
  for (const [, label, text] of (labelText ?? '').matchAll(LABEL)) labels[String(label)] = String(text)
  family.samples.push({ name, labels, value })
}

/** Buckets grow, and the last one is the count. */
function checkFamily(name: string, { type, samples }: ParsedFamily): void {
  assert.ok(samples.length > 0, `${name} has no samples`)
  if (type === 'counter') assert.ok(samples.every(({ value }) => value >= 0))
  if (type !== 'histogram') return
  let last = 0
  for (const { name: own, labels, value } of samples) {
    if (own.endsWith('_bucket')) assert.ok(value >= last, `${own} ${JSON.stringify(labels)}`)
    if (own.endsWith('_count')) assert.equal(value, last)
    last = own.endsWith('_bucket') ? value : own.endsWith('_sum') ? last : 0
  }
}

/** The value of one series; undefined when there is none. */
export function valueOf(
  families: ReadonlyMap<string, ParsedFamily>,
  family: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const fits = (of: Record<string, string>): boolean =>
    Object.entries(labels).every(([label, text]) => of[label] === text)
  return families.get(family)?.samples.find(sample => fits(sample.labels))?.value
}
