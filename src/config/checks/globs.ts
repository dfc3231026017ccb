import { globs, unclosedIn } from '../../util/globs.ts'
import { isPlain } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import { GLOB_PATHS } from '../keys.gen.ts'
import type { Report } from '../problem.ts'

/** Globs that are not what somebody meant: a brace or bracket that is not closed, or more alternatives than are tried. */
export function checkGlobs(config: unknown, report: Report): void {
  for (const path of GLOB_PATHS) visit(config, '', path.split('/'), 1, report)
}

/** `keys` from `at` on lead to the globs. */
function visit(value: unknown, pointer: string, keys: readonly string[], at: number, report: Report): void {
  const key = keys[at]
  if (key === undefined) return checkAt(value, pointer, report)
  if (!isPlain(value) && !Array.isArray(value)) return
  const inner = value as Readonly<Record<string, unknown>>
  const names = key === '*' ? Object.keys(inner) : Object.hasOwn(inner, key) ? [key] : []
  for (const name of names) visit(inner[name], pointerTo(pointer, name), keys, at + 1, report)
}

function checkAt(value: unknown, pointer: string, report: Report): void {
  if (typeof value === 'string') checkGlob(value, pointer, report)
  else if (Array.isArray(value)) value.forEach((item, i) => checkAt(item, `${pointer}/${i}`, report))
  else if (isPlain(value))
    for (const key of Object.keys(value))
      checkGlob(key, pointerTo(pointer, key), finding => report({ ...finding, on: 'key' }))
}

function checkGlob(glob: string, pointer: string, report: Report): void {
  const unclosed = unclosedIn(glob)
  if (unclosed !== undefined)
    return report({
      pointer,
      message: `the "${unclosed}" of the glob "${glob}" is not closed`,
      hint: `close it, or write "\\${unclosed}" for the character itself`,
    })
  try {
    globs(glob)
  } catch (error) {
    report({ pointer, message: (error as RangeError).message, hint: 'write several globs' })
  }
}
