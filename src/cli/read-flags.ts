import { parseArgs } from 'node:util'

interface FlagForm {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
}

/** Reads arguments as every parser does; undefined where one may differ from another. */
export function readFlags<F extends Readonly<Record<string, FlagForm>>>(args: readonly string[], options: F) {
  try {
    const { values, tokens } = parseArgs({ args: [...args], options, tokens: true })
    const seen = new Set<string>()
    for (const token of tokens) {
      if (token.kind !== 'option' || token.value === '') return undefined
      if (token.inlineValue === true && !token.rawName.startsWith('--')) return undefined
      if (seen.has(token.name) && options[token.name]?.multiple !== true) return undefined
      seen.add(token.name)
    }
    return values
  } catch {
    return undefined
  }
}
