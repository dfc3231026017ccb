import { compileGlobs, findUnclosed } from '../../util/globs.ts'
import { isPlain } from '../../util/plain-data.ts'
import type { Report } from '../../util/finding.ts'
import { appendPointer } from '../../util/finding.ts'
import { GLOB_PATHS } from '../keys.gen.ts'

/** Reports malformed globs: unclosed braces or brackets, too many alternatives. */
export function checkGlobs(config: unknown, report: Report): void {
  for (const path of GLOB_PATHS) visitPath(config, path, (value, pointer) => checkGlobValue(value, pointer, report))
}

type ValueCallback = (value: unknown, pointer: string) => void

/** Calls `visit` for each value at a schema path; `*` matches any key or index. */
export function visitPath(config: unknown, path: string, visit: ValueCallback): void {
  visitBelow(config, '', path.split('/').slice(1), visit)
}

function visitBelow(value: unknown, pointer: string, keys: readonly string[], visit: ValueCallback): void {
  const [key, ...more] = keys
  if (key === undefined) return visit(value, pointer)
  if (!isPlain(value) && !Array.isArray(value)) return
  const inner = value as Readonly<Record<string, unknown>>
  const names = key === '*' ? Object.keys(inner) : Object.hasOwn(inner, key) ? [key] : []
  for (const name of names) visitBelow(inner[name], appendPointer(pointer, name), more, visit)
}

function checkGlobValue(value: unknown, pointer: string, report: Report): void {
  if (typeof value === 'string') checkGlob(value, pointer, report)
  else if (Array.isArray(value)) value.forEach((item, i) => checkGlobValue(item, `${pointer}/${i}`, report))
  else if (isPlain(value))
    for (const key of Object.keys(value))
      checkGlob(key, appendPointer(pointer, key), finding => report({ ...finding, on: 'key' }))
}

/** An app's URI as clients see it (`src/protocol/app-uri.ts`); only routes match it. */
const APP_URI = /^ui:\/\/[^/]+\.tapgate\/(.*)$/is

function checkGlob(glob: string, pointer: string, report: Report): void {
  const [, own] = APP_URI.exec(glob) ?? []
  if (own !== undefined && !pointer.startsWith('/routes/')) {
    const hint = `rules match the server's own URI: write "ui://${own}"`
    report({ pointer, message: `"${glob}" matches nothing: only clients see such URIs`, hint, severity: 'warning' })
  }
  const unclosed = findUnclosed(glob)
  if (unclosed !== undefined)
    return report({
      pointer,
      message: `unclosed "${unclosed}" in glob "${glob}"`,
      hint: `close it, or write "\\${unclosed}" for a literal`,
    })
  try {
    compileGlobs(glob)
  } catch (error) {
    report({ pointer, message: (error as RangeError).message, hint: 'use several globs' })
  }
}
