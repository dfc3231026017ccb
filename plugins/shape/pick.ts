import { createRequire } from 'node:module'
import { createContext, Script } from 'node:vm'
import type { JsonObject } from '../../src/plugin.ts'
import { defineErrors, isObject, getErrorMessage, RPC } from '../../src/plugin.ts'

/** Errors of results that are brought into form. */
export const ERRORS = {
  GW_SHAPE_PICK: {
    text: 'what shall be picked of the result is no JMESPath expression: {why}',
    hint: 'Such as `items[].{title: title, url: url}`; see https://jmespath.org. Nothing was called.',
    http: 400,
    rpc: RPC.invalidParams,
  },
} as const

export const shapeError = defineErrors(ERRORS)

/** One step of a path: a member by its name, each member, or each item of a list. */
type Step = { readonly member: string } | 'members' | 'items'

const MAX_STEPS = 32

/** Reads a path such as `items[].meta.*.html`, or a name in quotes; a text says what is wrong with it. */
export function readPath(text: string): readonly Step[] | string {
  const steps: Step[] = []
  let rest = text
  while (rest !== '') {
    const dot = steps.length > 0 && !rest.startsWith('[]')
    const found = (dot ? /^\.("(?:[^"\\]|\\.)+"|[^.[\]"]+)/ : /^(\[\]|"(?:[^"\\]|\\.)+"|[^.[\]"]+)/).exec(
      rest,
    )
    const [all, name] = found ?? []
    if (all === undefined || name === undefined) return `"${rest.slice(0, 32)}" is no step of a path`
    steps.push(stepOf(name))
    rest = rest.slice(all.length)
  }
  if (steps.at(-1) === 'items') return 'it ends with "[]", and would leave nothing: name the list'
  return steps.length > MAX_STEPS ? `it has more than ${MAX_STEPS} steps` : steps
}

function stepOf(name: string): Step {
  if (name === '[]') return 'items'
  if (name === '*') return 'members'
  return { member: name.startsWith('"') ? unquoted(name) : name }
}

function unquoted(name: string): string {
  return name.slice(1, -1).replace(/\\(.)/g, '$1')
}

/** The value without what lies at a path; the very same where nothing lies there. */
export function without(value: unknown, [step, ...rest]: readonly Step[]): unknown {
  if (step === undefined) return value
  if (step === 'items') return Array.isArray(value) ? mapped(value, item => without(item, rest)) : value
  if (!isObject(value)) return value
  if (step === 'members') return rest.length === 0 ? {} : eachMember(value, rest)
  const { member } = step
  if (!Object.hasOwn(value, member)) return value
  if (rest.length === 0) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== member))
  const inner = without(value[member], rest)
  return inner === value[member] ? value : { ...value, [member]: inner }
}

function mapped(items: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  const changed = items.map(change)
  return changed.every((item, index) => item === items[index]) ? items : changed
}

function eachMember(value: JsonObject, rest: readonly Step[]): JsonObject {
  const entries = Object.entries(value).map(([name, inner]) => [name, without(inner, rest)] as const)
  return entries.every(([name, inner]) => inner === value[name]) ? value : Object.fromEntries(entries)
}

/** The package as it is used here. */
interface JmesPath {
  compile(expression: string): unknown
  search(data: unknown, expression: string): unknown
}

/** Longest expression of a caller; one of the configuration may be longer. */
export const MAX_ASKED = 1024
/** Longest expression of all. */
const MAX_EXPRESSION = 4096
/** Time that one projection may take, in milliseconds. */
const MAX_MS = 250
/** Longest text that may come of one. */
const MAX_LENGTH = 32 * 1024 * 1024

/** Outcome of an expression: its value as JSON, or why it has none. */
type Picked = { readonly json: string; readonly failed?: undefined } | { readonly failed: string }

/** An expression that was compiled once. */
export interface Pick {
  readonly text: string
  /** Applies the expression to a value. */
  run(value: unknown): Picked
}

const load = createRequire(import.meta.url)
let jmespath: JmesPath | undefined
/** Made once: `run` in it is set before each use, and nothing else gets in. */
let sandbox: { readonly context: { run: () => unknown }; readonly script: Script } | undefined

/** Compiles an expression. The package is loaded with the first one. */
export function compilePick(
  text: string,
  longest = MAX_EXPRESSION,
): { readonly pick: Pick } | { readonly mistake: string } {
  if (text.length > longest) return { mistake: `it has ${text.length} characters, and may have ${longest}` }
  jmespath ??= load('jmespath') as JmesPath
  const { search } = jmespath
  try {
    jmespath.compile(text)
  } catch (error) {
    return { mistake: error instanceof RangeError ? 'it is nested too deeply' : getErrorMessage(error) }
  }
  return {
    pick: { text, run: value => within(() => JSON.stringify(search(value, text))) },
  }
}

/** Runs work that is ended when it takes too long: an expression can make much of little. */
function within(work: () => string | undefined): Picked {
  const { context, script } = (sandbox ??= newSandbox())
  context.run = work
  try {
    const json = (script.runInContext(context, { timeout: MAX_MS }) as string | undefined) ?? 'null'
    return json.length > MAX_LENGTH ? { failed: 'it finds too much' } : { json }
  } catch (error) {
    return { failed: failureOf(error) }
  } finally {
    context.run = () => undefined
  }
}

function newSandbox(): NonNullable<typeof sandbox> {
  return {
    context: createContext({ run: () => undefined }) as { run: () => unknown },
    script: new Script('run()'),
  }
}

function failureOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code
  if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return `it takes longer than ${MAX_MS} ms`
  return error instanceof RangeError ? 'the result is nested too deeply, or too long' : getErrorMessage(error)
}
