import type { Config, Report } from '../../src/plugin.ts'
import {
  BoundedMap,
  gatewayError,
  compileGlobs,
  checkKnownName,
  readList,
  readMap,
  appendPointer,
  getErrorMessage,
  readValue,
} from '../../src/plugin.ts'
import { detectorsOf, expression, NAMES } from './secrets.ts'
import { Redactor } from './redactor.ts'
import type { Detector } from './spans.ts'

export type RedactOptions = NonNullable<Config['redact']>
export type Direction = 'arguments' | 'results'

/** Names whose rules are kept. */
const MAX_NAMES = 4096

interface Rule {
  readonly isMeant: (name: string) => boolean
  /** True if it is about everything, so that it holds for what belongs to no call. */
  readonly isForAll: boolean
  readonly in: readonly Direction[]
  readonly redactor: Redactor
}

/** The rules of a configuration, by what they are about. */
export class Rules {
  readonly #rules: readonly Rule[]
  readonly #known = new BoundedMap<string, readonly Redactor[]>({ max: MAX_NAMES })

  private constructor(rules: readonly Rule[]) {
    this.#rules = rules
  }

  /** @throws GatewayError GW_PLUGIN_OPTIONS where an expression is none. */
  static async of({ rules, expressions }: RedactOptions): Promise<Rules> {
    const own = new Map<string, Detector>()
    for (const [name, source] of Object.entries(expressions)) own.set(name, await compiled(name, source))
    return new Rules(
      rules.map(rule => ({
        isMeant: compileGlobs(rule.for),
        isForAll: rule.for.includes('*'),
        in: rule.in,
        redactor: new Redactor(detectorsOf(rule.detect, own), rule.action),
      })),
    )
  }

  has(direction: Direction): boolean {
    return this.#rules.some(rule => rule.in.includes(direction))
  }

  /** Lines that say what is looked for in one direction. */
  explain(name: string | undefined, direction: Direction): string[] {
    return this.for(name, direction).map(
      ({ names, action }) => `looks for ${names.join(', ')} in its ${direction}: ${action}`,
    )
  }

  /** Redactors for a tool, prompt or URI in one direction; without a name, those for what belongs to no call. */
  for(name: string | undefined, direction: Direction): readonly Redactor[] {
    const key = `${direction} ${name ?? ''}`
    const known = this.#known.use(key)
    if (known !== undefined) return known
    const found = this.#rules
      .filter(rule => rule.in.includes(direction))
      .filter(rule => rule.isForAll || (name !== undefined && rule.isMeant(name)))
      .map(({ redactor }) => redactor)
    this.#known.set(key, found)
    return found
  }
}

async function compiled(name: string, source: string): Promise<Detector> {
  try {
    return await expression(name, source)
  } catch (cause) {
    const why = `redact.expressions.${name} is no expression of RE2: ${getErrorMessage(cause)}`
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'redact', why, cause })
  }
}

/** Detectors that are spoken of must be there, those of the owner must be used, and have names of their own. */
export function check(config: unknown, report: Report): void {
  if (readValue(config, 'redact') === undefined) return
  const own = Object.keys(readMap(config, 'redact', 'expressions'))
  const names = [...NAMES, ...own]
  const used = new Set<unknown>()
  readList(config, 'redact', 'rules').forEach((rule, i) =>
    readList(rule, 'detect').forEach((name, j) => {
      used.add(name)
      checkKnownName(name, { what: 'detector', names }, `/redact/rules/${i}/detect/${j}`, report)
    }),
  )
  for (const name of own) {
    const pointer = appendPointer('/redact/expressions', name)
    if (NAMES.includes(name))
      report({ pointer, message: `"${name}" is a detector of ours`, hint: 'give it another name', on: 'key' })
    else if (!used.has(name))
      report({
        pointer,
        message: 'no rule detects it',
        hint: 'name it under "detect"',
        severity: 'warning',
        on: 'key',
      })
  }
}
