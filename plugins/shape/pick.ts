import { createRequire } from 'node:module'
import { createContext, Script } from 'node:vm'
import { reasonOf } from '../../src/plugin.ts'

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
    return { mistake: error instanceof RangeError ? 'it is nested too deeply' : reasonOf(error) }
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
  return error instanceof RangeError ? 'the result is nested too deeply, or too long' : reasonOf(error)
}
