/** Text and data as tools really return them: most of it has escapes, quotation marks and other languages than English. */

/** Kinds of payload that the bench knows. */
export const PAYLOADS = ['jsonl', 'code', 'log', 'base64', 'prose', 'structured'] as const
export type PayloadKind = (typeof PAYLOADS)[number]

const CODE = `export async function load(path: string, { retries = 3 } = {}): Promise<Map<string, Item>> {
\tconst text = await readFile(join(root, path), "utf8")
\tfor (const [line, raw] of text.split("\\n").entries()) {
\t\tconst match = /^\\s*(\\w+)\\s*=\\s*"([^"\\\\]*)"/.exec(raw) // "name" = "value"
\t\tif (match === null) throw new SyntaxError(\`\${path}:\${line + 1}: expected "name = \\"value\\""\`)
\t\titems.set(match[1], { value: match[2], line, isQuoted: raw.includes('"') })
\t}
\treturn items
}
`
const LOG = `2026-11-22T10:15:32.113Z INFO  http  GET /api/v1/orders?state=open 200 in 14 ms user="anna" ip=10.2.3.4
2026-11-22T10:15:32.240Z WARN  db    slow query (812 ms): SELECT * FROM "orders" WHERE "customer" = $1
2026-11-22T10:15:33.001Z ERROR queue job 8123 failed: connect ECONNREFUSED 10.0.0.7:5672\\n    at TCPConnectWrap
`
const PROSE =
  'Die Prüfung größerer Flächen – etwa in Österreich – dauert länger, als man denkt. Le café était déjà fermé à l’aube. ' +
  '東京の天気は晴れで、気温は二十五度です。 Новая версия вышла вчера вечером 🚀.\n'

/** A record of a table, as JSON; no two are the same. */
function record(nth: number): object {
  return {
    id: `${(nth * 2654435761) % 4294967296}`,
    name: `Order ${nth}`,
    customer: { email: `user${nth % 97}@example.com`, address: ['12 "Mill" Lane', 'Ghent'] },
    total: (nth * 1.37).toFixed(2),
    amount: nth * 3.25,
    isOpen: nth % 3 === 0,
    tags: ['new', nth % 2 === 0 ? 'paid' : 'due'],
    note: null,
  }
}

function records(bytes: number): object[] {
  const each = JSON.stringify(record(5000)).length + 1
  return Array.from({ length: Math.max(1, Math.floor(bytes / each)) }, (_, nth) => record(nth))
}

function repeated(text: string, bytes: number): string {
  return text.repeat(Math.ceil(bytes / text.length)).slice(0, bytes)
}

/** Text of about this many characters. */
export function textOf(kind: Exclude<PayloadKind, 'structured'>, bytes: number): string {
  if (kind === 'code') return repeated(CODE, bytes)
  if (kind === 'log') return repeated(LOG, bytes)
  if (kind === 'prose') return repeated(PROSE, Math.ceil(bytes / 1.5))
  if (kind === 'base64') return repeated(Buffer.from(CODE).toString('base64').replace(/=+$/, ''), bytes)
  return records(bytes)
    .map(one => JSON.stringify(one))
    .join('\n')
}

/** The members of a result that a tool returns. */
export function resultOf(kind: PayloadKind, bytes: number): object {
  if (kind !== 'structured') return { content: [{ type: 'text', text: textOf(kind, bytes) }] }
  const rows = records(bytes)
  return { content: [{ type: 'text', text: `${rows.length} rows` }], structuredContent: { page: { rows } } }
}
