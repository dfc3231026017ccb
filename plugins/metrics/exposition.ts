import type { Family, Sample } from './series.ts'

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Formats families with samples in Prometheus's text format. */
export function formatExposition(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(formatFamily)
    .join('')
}

function formatFamily({ name: plain, unit, type, help, samples }: Family): string {
  const name = plain.replaceAll('.', '_') + (unit === undefined ? '' : '_seconds')
  const family = type === 'counter' ? `${name}_total` : name
  let text = `# HELP ${family} ${escapeText(help, /[\\\n]/g)}\n# TYPE ${family} ${type}\n`
  for (const { suffix = '', labels, value } of samples) text += `${name}${suffix}${formatLabels(labels)} ${value}\n`
  return text
}

function formatLabels(labels: Sample['labels']): string {
  if (labels === undefined) return ''
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name.replaceAll('.', '_')}="${escapeText(value, /[\\\n"]/g)}"`,
  )
  return `{${pairs.join(',')}}`
}

function escapeText(text: string, special: RegExp): string {
  return text.toWellFormed().replace(special, character => (character === '\n' ? '\\n' : `\\${character}`))
}
