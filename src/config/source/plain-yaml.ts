import { parse, stringify } from 'yaml'

/** Plain data as YAML for people: block style, lines not folded. */
export function toYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0 })
}

/**
 * YAML that is not ours, as plain data.
 * @throws Error when it is no YAML, or has too many aliases.
 */
export function fromYaml(text: string): unknown {
  return parse(text, { maxAliasCount: 100, prettyErrors: true, logLevel: 'error' })
}
