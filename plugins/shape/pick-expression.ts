import { createRequire } from 'node:module'
import { createContext, Script } from 'node:vm'
import type { JsonObject } from '../../src/plugin.ts'
import { defineErrors, isObject, getErrorMessage, RPC } from '../../src/plugin.ts'

export const ERRORS = {
  GW_SHAPE_PICK: {
    text: '"_pick" is not a valid JMESPath expression: {why}',
    hint: 'Example: `items[].{title: title, url: url}`; see https://jmespath.org. The tool was not called.',
    http: 400,
    rpc: RPC.invalidParams,
  },
} as const

export const shapeError = defineErrors(ERRORS)

/** Path step: a named member, every member, or every list item. */
type PathStep = { readonly member: string } | 'members' | 'items'

const MAX_STEPS = 32

/** Parses a path such as `items[].meta.*.html`; returns a message for an invalid one. */
export function parseDropPath(text: string): readonly PathStep[] | string {
  const steps: PathStep[] = []
  let unparsed = text
  while (unparsed !== '') {
    const dot = steps.length > 0 && !unparsed.startsWith('[]')
    const match = (dot ? /^\.("(?:[^"\\]|\\.)+"|[^.[\]"]+)/ : /^(\[\]|"(?:[^"\\]|\\.)+"|[^.[\]"]+)/).exec(unparsed)
    const [all, name] = match ?? []
    if (all === undefined || name === undefined) return `"${unparsed.slice(0, 32)}" is not a path step`
    steps.push(parseStep(name))
    unparsed = unparsed.slice(all.length)
  }
  if (steps.at(-1) === 'items') return 'ends with "[]" and would remove everything: use the name of the list'
  return steps.length > MAX_STEPS ? `more than ${MAX_STEPS} steps` : steps
}

function parseStep(name: string): PathStep {
  if (name === '[]') return 'items'
  if (name === '*') return 'members'
  return { member: name.startsWith('"') ? unquoteName(name) : name }
}

function unquoteName(name: string): string {
  return name.slice(1, -1).replace(/\\(.)/g, '$1')
}

/** Returns the value without a path; the same object if the path is missing. */
export function removePath(value: unknown, [step, ...rest]: readonly PathStep[]): unknown {
  if (step === undefined) return value
  if (step === 'items') return Array.isArray(value) ? mapItems(value, item => removePath(item, rest)) : value
  if (!isObject(value)) return value
  if (step === 'members') return rest.length === 0 ? {} : mapMembers(value, rest)
  const { member } = step
  if (!Object.hasOwn(value, member)) return value
  if (rest.length === 0) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== member))
  const inner = removePath(value[member], rest)
  return inner === value[member] ? value : { ...value, [member]: inner }
}

function mapItems(items: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  const changed = items.map(change)
  return changed.every((item, index) => item === items[index]) ? items : changed
}

function mapMembers(value: JsonObject, rest: readonly PathStep[]): JsonObject {
  const entries = Object.entries(value).map(([name, inner]) => [name, removePath(inner, rest)] as const)
  return entries.every(([name, inner]) => inner === value[name]) ? value : Object.fromEntries(entries)
}

/** Used part of the package. */
interface JmesPath {
  compile(expression: string): unknown
  search(data: unknown, expression: string): unknown
}

/** Maximum length of a caller's expression; configured ones may be longer. */
export const MAX_PICK_LENGTH = 1024
/** Maximum configured expression length. */
const MAX_EXPRESSION_LENGTH = 4096
/** Maximum evaluation time in milliseconds. */
const MAX_EVALUATION_MS = 250
const MAX_RESULT_LENGTH = 32 * 1024 * 1024

/** Result as JSON, or a failure. */
type PickResult = { readonly json: string; readonly failed?: undefined } | { readonly failed: string }

export interface CompiledPick {
  readonly text: string
  run(value: unknown): PickResult
}

const load = createRequire(import.meta.url)
let jmespath: JmesPath | undefined
/** Created once; `run` is set before each use. */
let sandbox: { readonly context: { run: () => unknown }; readonly script: Script } | undefined

/** Compiles an expression. Loads the package on first use. */
export function compilePick(
  text: string,
  longest = MAX_EXPRESSION_LENGTH,
): { readonly pick: CompiledPick } | { readonly mistake: string } {
  if (text.length > longest) return { mistake: `${text.length} characters, maximum ${longest}` }
  jmespath ??= load('jmespath') as JmesPath
  const { search } = jmespath
  try {
    jmespath.compile(text)
  } catch (error) {
    return { mistake: error instanceof RangeError ? 'nested too deeply' : getErrorMessage(error) }
  }
  return {
    pick: { text, run: value => runWithTimeout(() => JSON.stringify(search(value, text))) },
  }
}

/** Runs work with a time limit, because an expression can expand its input. */
function runWithTimeout(work: () => string | undefined): PickResult {
  const { context, script } = (sandbox ??= createSandbox())
  context.run = work
  try {
    const json = (script.runInContext(context, { timeout: MAX_EVALUATION_MS }) as string | undefined) ?? 'null'
    return json.length > MAX_RESULT_LENGTH ? { failed: 'result too large' } : { json }
  } catch (error) {
    return { failed: describeFailure(error) }
  } finally {
    context.run = () => undefined
  }
}

function createSandbox(): NonNullable<typeof sandbox> {
  return {
    context: createContext({ run: () => undefined }) as { run: () => unknown },
    script: new Script('run()'),
  }
}

function describeFailure(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code
  if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return `timed out after ${MAX_EVALUATION_MS} ms`
  return error instanceof RangeError ? 'result nested too deeply or too long' : getErrorMessage(error)
}
