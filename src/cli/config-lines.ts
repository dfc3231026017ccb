import type { DescribedValue } from '../config/index.ts'
import { isPlain } from '../util/plain.ts'
import { pointerTo } from '../util/pointer.ts'
import { printable } from '../util/log.ts'
import type { Output } from './terminal.ts'

/** A configuration as YAML; origins, where given, are comments on it. */
export function configLines(config: unknown, origins: readonly DescribedValue[], out: Output): string[] {
  const lines = [...linesOf(config, '', '  ')]
  const byPointer = new Map(origins.map(({ pointer, origin }) => [pointer, origin]))
  const comments = lines.map(({ pointer }) => byPointer.get(pointer))
  const column = Math.min(60, Math.max(...lines.map(({ text }) => text.length)) + 2)
  return lines.map(({ text }, i) => {
    const comment = comments[i]
    return comment === undefined ? text : `${text.padEnd(column)} ${out.paint('dim', `# ${comment}`)}`
  })
}

interface Line {
  readonly text: string
  readonly pointer: string
}

function* linesOf(value: unknown, pointer: string, indent: string): Generator<Line> {
  if (!isPlain(value)) return
  for (const [key, inner] of Object.entries(value)) {
    const at = pointerTo(pointer, key)
    const head = `${indent}${scalar(key)}:`
    if (isPlain(inner) && Object.keys(inner).length > 0) {
      yield { text: head, pointer: at }
      yield* linesOf(inner, at, `${indent}  `)
    } else if (Array.isArray(inner) && inner.length > 0) {
      yield { text: head, pointer: at }
      yield* inner.map((item, i) => ({ text: `${indent}  - ${flow(item)}`, pointer: pointerTo(at, i) }))
    } else yield { text: `${head} ${flow(inner)}`, pointer: at }
  }
}

function flow(value: unknown): string {
  return typeof value === 'string' ? scalar(value) : printable(JSON.stringify(value))
}

// Quoted where YAML would read something else.
function scalar(text: string): string {
  const isPlainText = /^[A-Za-z_./][\w./@+:-]*(?: [\w./@+:-]+)*$/.test(text) && !/:(?: |$)/.test(text)
  const isSomethingElse = /^(?:true|false|null|yes|no|on|off|\.inf|\.nan|\.\d.*)$/i.test(text)
  const isQuantity = /^\d+(?:ms|s|m|h|d|[KMG]iB)$/.test(text)
  return isQuantity || (isPlainText && !isSomethingElse) ? text : printable(JSON.stringify(text))
}
