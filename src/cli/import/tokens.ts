import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { secretsIn } from '../../config/secrets.ts'
import { isObject, type JsonObject } from '../../protocol/json/json.ts'

/** A secret that stood in a client's settings as it is. */
interface Token {
  /** `web: headers.Authorization` */
  readonly place: string
  readonly value: string
  /** Where it can be put, relative to the directory of tokens. */
  readonly file: string
}

/** The secrets that these upstreams hold as they are, and the same upstreams with each in a file of its own instead. */
export function tokensIn(
  upstreams: JsonObject,
  directory: string,
): { readonly tokens: readonly Token[]; readonly upstreams: JsonObject } {
  const tokens: Token[] = []
  const moved = Object.entries(upstreams).map(([name, spec]) => {
    const secrets = secretsIn({ upstreams: { [name]: spec } })
      .filter(secret => !secret.includes('${'))
      .sort((a, b) => b.length - a.length)
    const move = (text: string, path: readonly string[]): string => {
      const value = secrets.find(secret => text.includes(secret))
      if (value === undefined) return text
      const file = fileFor([name, ...path], tokens)
      tokens.push({ place: `${name}: ${path.join('.')}`, value, file })
      return text.replaceAll(value, () => `\${file:${directory}/${file}}`)
    }
    return [name, rewritten(spec, [], move)] as const
  })
  return { tokens, upstreams: Object.fromEntries(moved) }
}

/** Writes each into its file, for the owner only. */
export async function writeTokens(tokens: readonly Token[], directory: string): Promise<void> {
  for (const { file, value } of tokens) {
    const path = resolve(directory, file)
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFile(path, value, { mode: 0o600 })
  }
}

function rewritten(
  value: unknown,
  path: readonly string[],
  move: (text: string, path: readonly string[]) => string,
): unknown {
  if (typeof value === 'string') return move(value, path)
  if (Array.isArray(value)) return value.map((item, i) => rewritten(item, [...path, String(i)], move))
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  return Object.fromEntries(entries.map(([key, item]) => [key, rewritten(item, [...path, key], move)]))
}

function fileFor(path: readonly string[], taken: readonly Token[]): string {
  const name = path
    .join('-')
    .replace(/[^\w-]+/g, '-')
    .toLowerCase()
  const isTaken = taken.some(({ file }) => file === name)
  return isTaken ? `${name}-${taken.length}` : name
}
