import { createHash } from 'node:crypto'
import { stringify } from 'yaml'

/** What a template of the chart reads. */
export interface Scope {
  readonly Values: Readonly<Record<string, unknown>>
  readonly Release: { readonly Name: string; readonly Namespace: string }
}

type Evaluate = (args: readonly unknown[]) => unknown

const FUNCTIONS: Readonly<Record<string, Evaluate>> = {
  add: args => args.reduce<number>((sum, one) => sum + Number(one), 0),
  and: args => args.find(one => !isTrue(one)) ?? args.at(-1),
  default: ([fallback, value]) => (isTrue(value) ? value : fallback),
  nindent: ([depth, text]) => `\n${String(text).replace(/^/gm, ' '.repeat(Number(depth)))}`,
  not: ([one]) => !isTrue(one),
  printf: ([format, ...rest]) => rest.reduce<string>((text, one) => text.replace('%s', String(one)), String(format)),
  quote: ([one]) => JSON.stringify(String(one)),
  sha256sum: ([text]) => createHash('sha256').update(String(text)).digest('hex'),
  toJson: ([one]) => JSON.stringify(one),
  toYaml: ([one]) => stringify(one, { lineWidth: 0 }).trimEnd(),
}

function isTrue(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return Boolean(value)
}

const ACTION = /(\s*)\{\{(-?) (.*?) \}\}/gs

/** Renders a template in as much of Go's language as the chart uses; anything else is an error. */
export function render(template: string, scope: Scope): string {
  let text = ''
  let at = 0
  const holds: boolean[] = []
  for (const found of template.matchAll(ACTION)) {
    const [all, space = '', trims, action = ''] = found
    if (holds.every(Boolean)) text += template.slice(at, found.index) + (trims === '-' ? '' : space)
    at = found.index + all.length
    text += act(action, holds, scope)
  }
  if (holds.length > 0) throw new Error('an end is missing')
  return text + template.slice(at)
}

/** Does what an action says. Returns the text that it makes. */
function act(action: string, holds: boolean[], scope: Scope): string {
  if (action.startsWith('if ')) holds.push(isTrue(evaluate(action.slice(3), scope)))
  else if (action !== 'end') return holds.every(Boolean) ? String(evaluate(action, scope)) : ''
  else if (holds.pop() === undefined) throw new Error('an end too many')
  return ''
}

function evaluate(pipeline: string, scope: Scope): unknown {
  const tokens = [...pipeline.matchAll(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+/g)].map(String)
  const value = pipe(tokens, scope)
  if (tokens.length > 0) throw new Error(`cannot read "${tokens.join(' ')}" of "${pipeline}"`)
  return value
}

function pipe(tokens: string[], scope: Scope): unknown {
  let value = command(tokens, scope, [])
  while (tokens[0] === '|') {
    tokens.shift()
    value = command(tokens, scope, [value])
  }
  return value
}

function command(tokens: string[], scope: Scope, last: readonly unknown[]): unknown {
  const [name = ''] = tokens
  const run = FUNCTIONS[name]
  if (run === undefined) return operand(tokens, scope)
  tokens.shift()
  const args: unknown[] = []
  while (tokens.length > 0 && tokens[0] !== '|' && tokens[0] !== ')') args.push(operand(tokens, scope))
  return run([...args, ...last])
}

function operand(tokens: string[], scope: Scope): unknown {
  const token = tokens.shift() ?? ''
  if (token === '(') {
    const value = pipe(tokens, scope)
    if (tokens.shift() !== ')') throw new Error('a bracket is missing')
    return value
  }
  if (token.startsWith('"')) return JSON.parse(token)
  if (/^\d+$/.test(token)) return Number(token)
  if (token.startsWith('.')) return look(token, scope)
  throw new Error(`the test does not know "${token}"`)
}

/** A value that the chart has no default for is a mistake of the template. */
function look(path: string, scope: Scope): unknown {
  const value = path
    .slice(1)
    .split('.')
    .reduce<unknown>((object, name) => (object as Record<string, unknown> | undefined)?.[name], scope)
  if (value === undefined) throw new Error(`${path} has no value`)
  return value
}
