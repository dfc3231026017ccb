/** What a file says it is. A file of another version was written by another gateway, and is no reason to worry. */
const FORMAT = 'tapgate-catalogue'
const VERSION = 1

/** What is known of one upstream, while its key is the same. */
export interface Recorded {
  readonly key: string
  readonly parts: ReadonlyMap<string, unknown>
}

/** What the file holds. `salt` goes into every key, so that equal specs on two machines have nothing in common. */
export interface Contents {
  readonly salt: string
  readonly records: Map<string, Recorded>
}

/** The document for some contents; in order of name, so that the same is the same. */
export function fileOf({ salt, records }: Contents): object {
  const upstreams = [...records]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { key, parts }]) => ({ name, key, parts: [...parts] }))
  return { format: FORMAT, version: VERSION, salt, upstreams }
}

/** The contents of a document: `other` for another version; undefined when it cannot be understood. */
export function recordsIn(value: unknown): Contents | 'other' | undefined {
  if (!isObject(value) || value.format !== FORMAT) return undefined
  if (value.version !== VERSION) return 'other'
  const { salt, upstreams } = value
  if (typeof salt !== 'string' || !Array.isArray(upstreams)) return undefined
  const records = upstreams.map(recordIn)
  return records.every(record => record !== undefined) ? { salt, records: new Map(records) } : undefined
}

function recordIn(value: unknown): [string, Recorded] | undefined {
  if (!isObject(value)) return undefined
  const { name, key } = value
  const parts = partsIn(value.parts)
  return typeof name === 'string' && typeof key === 'string' && parts !== undefined
    ? [name, { key, parts }]
    : undefined
}

function partsIn(value: unknown): Map<string, unknown> | undefined {
  if (!Array.isArray(value)) return undefined
  const isPart = (entry: unknown): entry is [string, unknown] =>
    Array.isArray(entry) && entry.length === 2 && typeof entry[0] === 'string'
  return value.every(isPart) ? new Map(value) : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
