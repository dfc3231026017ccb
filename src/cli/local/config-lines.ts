import type { DescribedValue } from '../../config/index.ts'
import { isPlain } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import { printable } from '../../util/log.ts'
import type { Output } from '../output/terminal.ts'

/** Stands for the pointer of a line that goes on with the value of the line before. */
const CONTINUED = ' '

interface Line {
  readonly text: string
  readonly pointer: string
}

interface ConfigLook {
  /** Whether each value says where it comes from, in a comment. */
  readonly withOrigins: boolean
  readonly out: Output
}

/** A configuration as YAML, defaults faint. */
export function configLines(
  config: unknown,
  origins: readonly DescribedValue[],
  { withOrigins, out }: ConfigLook,
): string[] {
  const lines = [...linesOf(config, '', '  ', out.width ?? 110)]
  const byPointer = new Map(origins.map(({ pointer, origin }) => [pointer, origin]))
  const column = Math.min(60, Math.max(0, ...lines.map(({ text }) => text.length)) + 1)
  let origin: string | undefined
  return lines.map(({ text, pointer }) => {
    if (pointer !== CONTINUED) origin = byPointer.get(pointer) ?? byPointer.get(`${pointer}/0`)
    const shown = origin === 'default' ? out.paint('dim', text) : text
    if (!withOrigins || origin === undefined || pointer === CONTINUED) return shown
    return `${shown}${' '.repeat(Math.max(1, column - text.length))}${out.paint('dim', `# ${origin}`)}`
  })
}

function* linesOf(value: unknown, pointer: string, indent: string, width: number): Generator<Line> {
  if (!isPlain(value)) return
  for (const [key, inner] of Object.entries(value)) {
    const at = pointerTo(pointer, key)
    const head = `${indent}${scalar(key)}:`
    if (isPlain(inner) && Object.keys(inner).length > 0) {
      yield { text: head, pointer: at }
      yield* linesOf(inner, at, `${indent}  `, width)
    } else {
      const [first = '', ...more] = flowLines(
        `${head} ${flow(inner)}`,
        `${indent}  `,
        Array.isArray(inner) ? width : Infinity,
      )
      yield { text: first, pointer: at }
      yield* more.map(text => ({ text, pointer: CONTINUED }))
    }
  }
}

// A list may go on on the next line, after a comma.
function flowLines(text: string, indent: string, width: number): string[] {
  const at = text.length <= width ? -1 : text.lastIndexOf(', ', width - 1)
  if (at <= indent.length) return [text]
  return [text.slice(0, at + 1), ...flowLines(`${indent}${text.slice(at + 2)}`, indent, width)]
}

function flow(value: unknown): string {
  if (Array.isArray(value))
    return `[${value.map(item => (Array.isArray(item) ? flow(item) : inFlow(item))).join(', ')}]`
  return typeof value === 'string' ? scalar(value) : printable(JSON.stringify(value))
}

function inFlow(value: unknown): string {
  return typeof value === 'string' && /[\s:]/.test(value) ? printable(JSON.stringify(value)) : flow(value)
}

// Quoted where YAML would read something else.
function scalar(text: string): string {
  const isPlainText = /^[A-Za-z_./][\w./@+:-]*(?: [\w./@+:-]+)*$/.test(text) && !/:(?: |$)/.test(text)
  const isSomethingElse = /^(?:true|false|null|yes|no|on|off|\.inf|\.nan|\.\d.*)$/i.test(text)
  const isQuantity = /^\d+(?:ms|s|m|h|d|[KMG]iB)$/.test(text)
  return isQuantity || (isPlainText && !isSomethingElse) ? text : printable(JSON.stringify(text))
}
