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
import { selectDetectors, compileExpression, DETECTOR_NAMES } from './secret-detectors.ts'
import { Redactor } from './redactor.ts'
import type { Detector } from './find-spans.ts'

export type RedactOptions = NonNullable<Config['redact']>
export type Direction = 'arguments' | 'results'

/** Maximum names with a cached rule list. */
const MAX_NAMES = 4096

interface RedactionRule {
  readonly matches: (name: string) => boolean
  /** True if the rule also applies to messages without a name. */
  readonly isForAll: boolean
  readonly in: readonly Direction[]
  readonly redactor: Redactor
}

/** Compiled redaction rules. */
export class RedactionRules {
  readonly #rules: readonly RedactionRule[]
  readonly #redactors = new BoundedMap<string, readonly Redactor[]>({ max: MAX_NAMES })

  private constructor(rules: readonly RedactionRule[]) {
    this.#rules = rules
  }

  /** @throws GatewayError GW_PLUGIN_OPTIONS for an invalid expression */
  static async create({ rules, expressions }: RedactOptions): Promise<RedactionRules> {
    const own = new Map<string, Detector>()
    for (const [name, source] of Object.entries(expressions)) own.set(name, await compileDetector(name, source))
    return new RedactionRules(
      rules.map(rule => ({
        matches: compileGlobs(rule.for),
        isForAll: rule.for.includes('*'),
        in: rule.in,
        redactor: new Redactor(selectDetectors(rule.detect, own), rule.action),
      })),
    )
  }

  hasDirection(direction: Direction): boolean {
    return this.#rules.some(rule => rule.in.includes(direction))
  }

  /** Redactors for a name in one direction; without a name, those that apply to everything. */
  redactorsFor(name: string | undefined, direction: Direction): readonly Redactor[] {
    const key = `${direction} ${name ?? ''}`
    const cached = this.#redactors.use(key)
    if (cached !== undefined) return cached
    const redactors = this.#rules
      .filter(rule => rule.in.includes(direction))
      .filter(rule => rule.isForAll || (name !== undefined && rule.matches(name)))
      .map(({ redactor }) => redactor)
    this.#redactors.set(key, redactors)
    return redactors
  }
}

async function compileDetector(name: string, source: string): Promise<Detector> {
  try {
    return await compileExpression(name, source)
  } catch (cause) {
    const why = `redact.expressions.${name} is not a valid RE2 expression: ${getErrorMessage(cause)}`
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'redact', why, cause })
  }
}

/** Checks that detectors exist, and that expressions are used and have unique names. */
export function checkRedaction(config: unknown, report: Report): void {
  if (readValue(config, 'redact') === undefined) return
  const own = Object.keys(readMap(config, 'redact', 'expressions'))
  const names = [...DETECTOR_NAMES, ...own]
  const used = new Set<unknown>()
  readList(config, 'redact', 'rules').forEach((rule, i) =>
    readList(rule, 'detect').forEach((name, j) => {
      used.add(name)
      checkKnownName(name, { what: 'detector', names }, `/redact/rules/${i}/detect/${j}`, report)
    }),
  )
  for (const name of own) {
    const pointer = appendPointer('/redact/expressions', name)
    if (DETECTOR_NAMES.includes(name))
      report({ pointer, message: `"${name}" is a built-in detector`, hint: 'choose another name', on: 'key' })
    else if (!used.has(name))
      report({
        pointer,
        message: 'unused expression',
        hint: 'add it to "detect" of a rule',
        severity: 'warning',
        on: 'key',
      })
  }
}
