const MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const BYTES = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const
/** Maximum timer delay, about 24.8 days; longer ones fire immediately. */
const MAX_MS = 2 ** 31 - 1

/** Parses `250ms`, `30s`, `5m`, `1h`, `1d` or a number to milliseconds; capped at the maximum timer delay. */
export function parseDuration(value: string | number): number {
  return Math.min(parseAmount(value, MS, 'duration'), MAX_MS)
}

/** Parses `512B`, `64KiB`, `4MiB`, `1GiB` or a number to bytes. */
export function parseSize(value: string | number): number {
  return parseAmount(value, BYTES, 'size')
}

function parseAmount(value: string | number, units: Readonly<Record<string, number>>, kind: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  const parts = /^(\d{1,12})([A-Za-z]+)$/.exec(String(value))
  const unit = parts?.[2] ?? ''
  if (parts === null || !Object.hasOwn(units, unit)) throw new RangeError(`not a ${kind}: ${String(value)}`)
  return Number(parts[1]) * (units[unit] ?? 1)
}

/** Average bytes per token for JSON and English across common tokenizers. */
const BYTES_PER_TOKEN = 3.6

/** Estimates the tokens for a text or byte count. */
export function estimateTokens(text: string | number): number {
  return Math.ceil((typeof text === 'number' ? text : Buffer.byteLength(text)) / BYTES_PER_TOKEN)
}

/** Estimates the bytes for a token count. */
export function estimateBytes(tokens: number): number {
  return Math.floor(tokens * BYTES_PER_TOKEN)
}
