import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../../api/index.ts'
import { finding, type HealthFinding } from '../../errors/health.ts'
import type { PluginApi } from '../../plugin.ts'
import { durationText } from '../../util/plain-text.ts'

/** Time before the end of a certificate from which on its owner is told. */
const SOON_MS = 14 * 24 * 3_600_000

/** Tells the owner when a certificate of a listener is about to end: it is the one that the last reload has read. */
export function watchCertificates({ hooks, config, directory }: PluginApi): void {
  const files = Object.entries((config as Partial<Config>).listeners ?? {}).flatMap(([listener, spec]) =>
    spec.type === 'http' && spec.tls !== undefined
      ? [{ listener, file: resolve(directory, spec.tls.cert) }]
      : [],
  )
  if (files.length === 0) return
  let ends: ReadonlyMap<string, number> | undefined
  hooks.health.tap(findings => {
    ends ??= new Map(files.flatMap(({ listener, file }) => endOf(file).map(end => [listener, end] as const)))
    return [...findings, ...[...ends].flatMap(([listener, end]) => certificateFindings(listener, end))]
  })
}

/** The end of the first certificate in a file, in milliseconds since 1970; one that cannot be read has no end. */
function endOf(file: string): number[] {
  try {
    const { X509Certificate } = process.getBuiltinModule('node:crypto')
    const end = Date.parse(new X509Certificate(readFileSync(file)).validTo)
    return Number.isNaN(end) ? [] : [end]
  } catch {
    return []
  }
}

function certificateFindings(listener: string, end: number): HealthFinding[] {
  const left = end - Date.now()
  if (left > SOON_MS) return []
  if (left > 0) return [finding('certificate-ends', { listener, when: `in ${durationText(left)}` })]
  return [finding('certificate-ended', { listener, when: `${durationText(-left)} ago` })]
}
