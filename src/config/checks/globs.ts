import { globs, unclosedIn } from '../../util/globs.ts'
import { isPlain } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import { GLOB_PATHS } from '../keys.gen.ts'
import type { Report } from '../problem.ts'

/** Globs that are not what somebody meant: a brace or bracket that is not closed, or more alternatives than are tried. */
export function checkGlobs(config: unknown, report: Report): void {
  for (const path of GLOB_PATHS) visit(config, '', path.split('/').slice(1), report)
}

function visit(value: unknown, pointer: string, [key, ...rest]: readonly string[], report: Report): void {
  if (key === undefined) return checkAt(value, pointer, report)
  if (!isPlain(value) && !Array.isArray(value)) return
  const entries = Object.entries(value) as [string, unknown][]
  for (const [name, inner] of entries)
    if (key === '*' || key === name) visit(inner, pointerTo(pointer, name), rest, report)
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
