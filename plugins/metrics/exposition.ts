import type { Figure } from '../../src/plugin.ts'

/** All samples of one name. That of a counter is without `_total`. */
export type Family = Figure
/** One line of a family; its suffix is such as `_total` or `_bucket`. */
export type Sample = Figure['samples'][number]

/** The two texts that Prometheus reads. */
export type Format = 'text' | 'openmetrics'

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** Which one a reader asks for. */
export function formatFor(accept: readonly string[]): Format {
  return accept.join(',').includes('application/openmetrics-text') ? 'openmetrics' : 'text'
}

/** Families as text. Those without a sample are left out. */
export function exposition(families: readonly Family[], format: Format): string {
  let text = ''
  for (const family of families) if (family.samples.length > 0) text += familyText(family, format)
  return format === 'openmetrics' ? `${text}# EOF\n` : text
}

function familyText({ name, type, help, samples }: Family, format: Format): string {
  // The older format names a counter as its samples are named.
  const shown = type === 'counter' && format === 'text' ? `${name}_total` : name
  let text = `# HELP ${shown} ${escaped(help, /[\\\n]/g)}\n# TYPE ${shown} ${type}\n`
  for (const { suffix = '', labels, value } of samples)
    text += `${name}${suffix}${labelText(labels)} ${value}\n`
  return text
}

function labelText(labels: Sample['labels']): string {
  if (labels === undefined) return ''
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value, /[\\\n"]/g)}"`)
  return `{${pairs.join(',')}}`
}

function escaped(text: string, special: RegExp): string {
  return text.toWellFormed().replace(special, character => (character === '\n' ? '\\n' : `\\${character}`))
}
