import { existsSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import type { Finding } from '../../util/finding.ts'

/** `gateway.<env>.yaml` beside `gateway.yaml`, or what is wrong with that wish. */
export function overlayFile(file: string, environment: string): { readonly file: string } | Finding {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(environment)) {
    const message = `"${environment}" is not the name of an environment`
    return { pointer: '', message, hint: 'use letters, digits, underscores and hyphens' }
  }
  const extension = extname(file)
  const stem = `${basename(file, extension)}.${environment}`
  const names = [...new Set([extension, '.yaml', '.yml', '.json'])].map(ending => `${stem}${ending}`)
  const found = names.find(name => existsSync(join(dirname(file), name)))
  if (found !== undefined) return { file: join(dirname(file), found) }
  const message = `environment "${environment}" has no file`
  return { pointer: '', message, hint: `looked for ${names.join(', ')} in ${dirname(file)}` }
}
