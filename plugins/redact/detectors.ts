import { card, email, iban, phone } from './personal.ts'
import { apiKey, privateKey, token, urlPassword } from './secrets.ts'
import type { Detector } from './spans.ts'

const ALL: readonly Detector[] = [privateKey, apiKey, token, urlPassword, email, iban, card, phone]

/** Names of groups, with what is in them. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  secrets: ['private-key', 'api-key', 'token', 'url-password'],
  personal: ['email', 'iban', 'card', 'phone'],
}

/** Names that rules may have, groups included. */
export const NAMES: readonly string[] = [...ALL.map(({ name }) => name), ...Object.keys(GROUPS)]

/** The detectors of these names, each once, those of the owner after ours. */
export function detectorsOf(names: readonly string[], own: ReadonlyMap<string, Detector>): Detector[] {
  const wanted = new Set(names.flatMap(name => GROUPS[name] ?? [name]))
  return [...ALL.filter(({ name }) => wanted.has(name)), ...[...wanted].flatMap(name => own.get(name) ?? [])]
}

/**
 * A detector of the owner's own expression, which takes time in proportion to the text, whatever it says.
 * @throws Error that says what is wrong with the expression.
 */
export async function expression(name: string, source: string): Promise<Detector> {
  const { RE2JS } = await import('re2js')
  const pattern = RE2JS.compile(source)
  return {
    name,
    checksNumbers: true,
    find(text) {
      const matcher = pattern.matcher(text)
      const spans = []
      while (matcher.find()) {
        const [from, to] = [matcher.start(), matcher.end()]
        if (to > from) spans.push({ from, to, detector: name })
      }
      return spans
    },
    mask: () => '****',
  }
}
