const MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const BYTES = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const
/** The longest a timer can wait, about 24.8 days; a longer one would fire at once. */
const MAX_MS = 2 ** 31 - 1

/** Milliseconds of `250ms`, `30s`, `5m`, `1h`, `1d` or a number of them; never more than a timer can wait. */
export function parseDuration(value: string | number): number {
  return Math.min(parseAmount(value, MS, 'duration'), MAX_MS)
}

/** Bytes of `512B`, `64KiB`, `4MiB`, `1GiB` or a number of them. */
export function parseSize(value: string | number): number {
  return parseAmount(value, BYTES, 'size')
}

function parseAmount(value: string | number, units: Readonly<Record<string, number>>, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  const parts = /^(\d{1,12})([A-Za-z]+)$/.exec(String(value))
  const unit = parts?.[2] ?? ''
  if (parts === null || !Object.hasOwn(units, unit)) throw new RangeError(`not a ${what}: ${String(value)}`)
  return Number(parts[1]) * (units[unit] ?? 1)
}

/** Bytes of JSON or English that make a token, as a middle of the usual tokenizers. */
const BYTES_PER_TOKEN = 3.6

/** Estimates the tokens of a text, or of so many bytes of it, as a model counts them. */
export function estimateTokens(text: string | number): number {
  return Math.ceil((typeof text === 'number' ? text : Buffer.byteLength(text)) / BYTES_PER_TOKEN)
}

/** Bytes that so many tokens may take. */
export function estimateBytes(tokens: number): number {
  return Math.floor(tokens * BYTES_PER_TOKEN)
}
