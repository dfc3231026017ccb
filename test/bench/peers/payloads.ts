/** Text and data as tools really return them: most of it has escapes, quotation marks and other languages than English. */

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

/** Text of about this many characters: source code, or a line of JSON for each record. */
export function textOf(kind: 'code' | 'jsonl', bytes: number): string {
  if (kind === 'code') return CODE.repeat(Math.ceil(bytes / CODE.length)).slice(0, bytes)
  const each = JSON.stringify(record(5000)).length + 1
  const count = Math.max(1, Math.floor(bytes / each))
  return Array.from({ length: count }, (_, nth) => JSON.stringify(record(nth))).join('\n')
}
