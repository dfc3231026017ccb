import { createRequire } from 'node:module'
import { posix } from 'node:path'
import type * as Cel from '@marcbachmann/cel-js'
import type { Environment, ParseResult } from '@marcbachmann/cel-js'
import type * as Re2 from 're2js'
import { compileGlobs, isObject } from '../../src/plugin.ts'
import type { Analysis, Mistake } from './analyze-expression.ts'
import { analyzeExpression } from './analyze-expression.ts'
import type { Facts, Variable } from './expression-variables.ts'
import { CLASSES, FIELDS, VALUES } from './expression-variables.ts'

/** Maximum regular expression work in one evaluation: characters times pattern size. */
const MAX_STEPS = 10_000_000
const MAX_PATTERN = 500
/** Maximum instructions per pattern. */
const MAX_PROGRAM = 1000
const HTTP = /^https?:$/
const CONTROLS = /[\0-\x20\x7f\\]/
const SEGMENT = /(^|\/)\.{1,2}(\/|$)|\/\/|\0|\\/

/** Additional functions. Each configuration has its own patterns, prepared at load. */
class ExpressionFunctions {
  readonly #patterns = new Map<string, Pattern>()
  readonly #globs = new Map<string, (text: string) => boolean>()
  #steps = 0

  /** Resets the work limit. */
  startEvaluation(): void {
    this.#steps = 0
  }

  /** Prepares a constant; returns the reason if it is invalid. */
  prepareConstant(name: string, text: string): string | undefined {
    if (name === 're') return this.#preparePattern(text)
    if (name === 'glob') this.#globs.set(text, compileGlobs(text))
    if (/^get/.test(name)) return checkTimeZone(text)
    return undefined
  }

  #preparePattern(text: string): string | undefined {
    if (text.length > MAX_PATTERN) return `the pattern has more than ${MAX_PATTERN} characters`
    const { RE2JS } = load('re2js') as typeof Re2
    try {
      const compiled = RE2JS.compile(text)
      const size = compiled.programSize()
      if (size > MAX_PROGRAM) return 'the pattern is too large: it repeats too much'
      this.#patterns.set(text, { size, find: input => compiled.matcher(input).find() })
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  /** Returns true if a regular expression (RE2) matches anywhere in the text. */
  re(text: string, pattern: string): boolean {
    const compiled = this.#patterns.get(pattern)
    if (compiled === undefined) throw new Error('the pattern was not prepared')
    this.#steps += text.length * compiled.size
    if (this.#steps > MAX_STEPS) throw new Error('the text is too long for re()')
    return compiled.find(text)
  }

  glob(text: string, pattern: string): boolean {
    const matches = this.#globs.get(pattern)
    if (matches === undefined) throw new Error('the pattern was not prepared')
    return matches(text)
  }
}

interface Pattern {
  readonly size: number
  readonly find: (text: string) => boolean
}

/**
 * Returns true if an absolute path is inside a directory, after resolving `..`. Symbolic links are not followed: only
 * the server could.
 */
function isWithin(path: string, directory: string): boolean {
  if (!directory.startsWith('/') || SEGMENT.test(directory))
    throw new Error('within() requires an absolute directory without ".." or "//"')
  if (!path.startsWith('/') || path.includes('\0') || path.includes('\\')) return false
  const base = directory.endsWith('/') ? directory.slice(0, -1) : directory
  // Normalizing is expensive, and most paths are already normal.
  const own = SEGMENT.test(path) ? posix.normalize(path) : path
  return own.startsWith(base) && (own.length === base.length || own[base.length] === '/')
}

/** Returns an http(s) URL's host in lower case without port. Fails if parsers may disagree. */
function parseHost(url: string): string {
  if (CONTROLS.test(url)) throw new Error('host() requires a URL without spaces, control characters or backslashes')
  const { protocol, username, password, hostname } = new URL(url)
  if (!HTTP.test(protocol) || !/^https?:\/\//i.test(url)) throw new Error('host() requires an http or https URL')
  if (username !== '' || password !== '') throw new Error('host() requires a URL without a user name')
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
}

function countBytes(value: unknown): bigint {
  return BigInt(Buffer.byteLength(JSON.stringify(value) ?? ''))
}

function checkTimeZone(text: string): string | undefined {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return undefined
  } catch {
    return `unknown time zone "${text}"`
  }
}

const LIMITS = {
  maxAstNodes: 400,
  maxDepth: 32,
  maxListElements: 200,
  maxMapEntries: 100,
  maxCallArguments: 8,
}
/** Maximum items in the arguments for an expression with a loop. */
const MAX_ITEMS = 10_000
/** Maximum characters compared over all items. */
const MAX_COMPARED = 20_000_000
/** Assumed length for other values that items are compared with. */
const SHORT_LENGTH = 1024
const LONG_LENGTH = 16 * 1024
/** Variables whose objects are reused while their content is the same. */
const STABLE_VARIABLES: ReadonlySet<Variable> = new Set(['principal', 'tool', 'upstream'])
/** Characters that would change the directory of a path. */
const UNSAFE_IN_PATH = /[/\\\0]|\.\./

/** A compiled expression. */
export interface Expression {
  readonly analysis: Analysis
  /** @throws Error if it has no value for these facts */
  evaluate(facts: Facts): boolean
}

type CompiledExpression = { readonly expression: Expression } | { readonly mistakes: readonly Mistake[] }

const load = createRequire(import.meta.url)

/** Compiles expressions; loads the CEL engine with the first one. */
export class ExpressionCompiler {
  readonly #functions = new ExpressionFunctions()
  /** By text, as many rules share an expression. */
  readonly #compiled = new Map<string, CompiledExpression>()
  #environment: Environment | undefined

  compile(text: string): CompiledExpression {
    let compiled = this.#compiled.get(text)
    if (compiled === undefined) this.#compiled.set(text, (compiled = this.#compile(text)))
    return compiled
  }

  #compile(text: string): CompiledExpression {
    const parsed = this.#parse(text)
    if ('mistakes' in parsed) return parsed
    const { run } = parsed
    const { analysis, mistakes } = analyzeExpression(run.ast)
    if (mistakes.length > 0) return { mistakes }
    const problems = [...this.#prepareConstants(analysis), ...checkType(run)]
    return problems.length > 0 ? { mistakes: problems } : { expression: this.#createExpression(run, analysis) }
  }

  #parse(text: string): { readonly run: ParseResult } | { readonly mistakes: readonly Mistake[] } {
    this.#environment ??= createEnvironment(load('@marcbachmann/cel-js') as typeof Cel, this.#functions)
    try {
      return { run: this.#environment.parse(text) }
    } catch (error) {
      return { mistakes: [toMistake(error)] }
    }
  }

  #prepareConstants({ constants }: Analysis): Mistake[] {
    return constants.flatMap(({ name, text, at }) => {
      const message = this.#functions.prepareConstant(name, text)
      return message === undefined ? [] : [{ message, at }]
    })
  }

  #createExpression(run: ParseResult, analysis: Analysis): Expression {
    const { loops, comparesLong, inPaths } = analysis
    const evaluate = (facts: Facts): boolean => {
      this.#functions.startEvaluation()
      if (loops) checkItems(facts, comparesLong)
      if (inPaths.length > 0) checkPathParts(facts, inPaths)
      const value: unknown = run(facts)
      if (typeof value !== 'boolean') throw new Error('the value is neither true nor false')
      return value
    }
    return { analysis, evaluate: cacheLastValue(evaluate, analysis) }
  }
}

/** Caches the last value of an expression that reads only stable variables. */
function cacheLastValue(evaluate: (facts: Facts) => boolean, { reads }: Analysis): (facts: Facts) => boolean {
  if (![...reads].every(name => STABLE_VARIABLES.has(name))) return evaluate
  const [readsPrincipal, readsTool, readsUpstream] = [...STABLE_VARIABLES].map(name => reads.has(name))
  let last: Facts | undefined
  let value = false
  return facts => {
    const isSame =
      last !== undefined &&
      (readsPrincipal === false || last.principal === facts.principal) &&
      (readsTool === false || last.tool === facts.tool) &&
      (readsUpstream === false || last.upstream === facts.upstream)
    if (isSame) return value
    last = undefined
    value = evaluate(facts)
    const { principal, tool, upstream } = facts
    last = { principal, tool, upstream }
    return value
  }
}

function createEnvironment({ Environment: Make }: typeof Cel, functions: ExpressionFunctions): Environment {
  const environment = new Make({ enableOptionalTypes: true, limits: LIMITS })
  for (const [name, fields] of Object.entries(FIELDS)) {
    const ctor = CLASSES[name as keyof typeof CLASSES]
    environment.registerType(`${name}Facts`, { ctor, fields })
    environment.registerVariable(name, `${name}Facts`)
  }
  for (const [name, type] of Object.entries(VALUES)) environment.registerVariable(name, type)
  return environment
    .registerFunction('string.re(string): bool', (text: string, pattern: string) => functions.re(text, pattern))
    .registerFunction('string.glob(string): bool', (text: string, pattern: string) => functions.glob(text, pattern))
    .registerFunction('string.within(string): bool', isWithin)
    .registerFunction('string.host(): string', parseHost)
    .registerFunction('map.size_bytes(): int', countBytes)
    .registerFunction('list.size_bytes(): int', countBytes)
    .registerFunction('string.size_bytes(): int', countBytes)
}

function checkType(run: ParseResult): Mistake[] {
  const { valid, type, error } = run.check()
  if (!valid) return [toMistake(error)]
  if (type === 'bool' || type === 'dyn') return []
  return [{ message: `the value has the type ${type ?? 'unknown'}`, hint: 'it must be true or false' }]
}

function toMistake(error: unknown): Mistake {
  if (!(error instanceof Error)) return { message: String(error) }
  const { summary, range } = error as Error & { summary?: string; range?: { start: number } }
  const [line = 'syntax error'] = error.message.split('\n')
  return { message: summary ?? line, at: range?.start }
}

/** @throws Error if iterating would take too long */
function checkItems({ args }: Facts, comparesLong: boolean): void {
  const size = measureValue(args)
  if (size.items > MAX_ITEMS) throw new Error(`the arguments have more than ${MAX_ITEMS} items`)
  const compared = comparesLong ? Math.max(size.characters, LONG_LENGTH) : SHORT_LENGTH
  if (size.items * compared > MAX_COMPARED) throw new Error('the arguments are too long to compare')
}

/** Counts items and characters; stops when there are too many items. */
function measureValue(value: unknown): { items: number; characters: number } {
  const size = { items: 0, characters: 0 }
  const pending: unknown[] = [value]
  while (pending.length > 0 && size.items <= MAX_ITEMS) {
    const next = pending.pop()
    if (typeof next === 'string') size.characters += next.length
    else if (Array.isArray(next)) {
      size.items += next.length
      if (size.items <= MAX_ITEMS) for (const item of next as unknown[]) pending.push(item)
    } else if (isObject(next)) {
      for (const [key, item] of Object.entries(next)) {
        size.items++
        size.characters += key.length
        pending.push(item)
      }
    } else size.characters += 8
  }
  return size
}

/** A subject that looks like a path must not leave its directory. */
function checkPathParts({ principal }: Facts, names: readonly string[]): void {
  const values = principal as Readonly<Record<string, unknown>> | undefined
  for (const name of names) {
    const value = values?.[name]
    if (typeof value !== 'string' || value === '' || UNSAFE_IN_PATH.test(value))
      throw new Error(`principal.${name} cannot be part of a path`)
  }
}
