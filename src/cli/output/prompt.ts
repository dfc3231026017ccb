import type { Interface } from 'node:readline/promises'
import { createInterface } from 'node:readline/promises'
import { gatewayError } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { sanitizeText } from '../../util/plain-text.ts'
import type { Host, Terminal } from './terminal.ts'

/** Invalid input, which is requested again. */
const INVALID = Symbol('wrong')

/** Prompts for a form; undefined if it is declined. Ctrl-C declines and also signals the process. */
export async function promptForSchema(
  schema: unknown,
  host: Host,
  signal?: AbortSignal,
): Promise<JsonObject | undefined> {
  const lines = createInterface({ input: host.stdin, output: host.stderr })
  const abortController = new AbortController()
  signal?.addEventListener('abort', () => abortController.abort(), { once: true })
  // In raw mode only readline receives Ctrl-C.
  lines.once('SIGINT', () => {
    abortController.abort()
    host.emit('SIGINT')
  })
  lines.once('close', () => abortController.abort())
  try {
    return await fillSchema(schema, lines, abortController.signal)
  } catch (error) {
    if (abortController.signal.aborted) return undefined
    throw error
  } finally {
    lines.close()
  }
}

async function fillSchema(schema: unknown, lines: Interface, signal: AbortSignal): Promise<JsonObject | undefined> {
  const { properties, required } = isObject(schema) ? schema : ({} as JsonObject)
  const needed = new Set(Array.isArray(required) ? (required as unknown[]) : [])
  // Without required fields, an empty line must not count as acceptance.
  if (needed.size === 0 && !/^y(es)?$/i.test((await lines.question('accept? [y, N]: ', { signal })).trim()))
    return undefined
  const content: JsonObject = {}
  for (const [key, property] of Object.entries(isObject(properties) ? properties : {})) {
    const value = await promptForValue(key, property, needed.has(key), lines, signal)
    if (value !== undefined) content[key] = value
    else if (needed.has(key)) return undefined
  }
  return content
}

async function promptForValue(
  key: string,
  property: unknown,
  isNeeded: boolean,
  lines: Interface,
  signal: AbortSignal,
): Promise<unknown> {
  const choices = getChoices(property)
  const choicesText = choices === undefined ? '' : ` [${sanitizeText(choices.map(String).join(', '))}]`
  for (;;) {
    const prompt = `${sanitizeText(key)}${choicesText} (empty ${isNeeded ? 'declines' : 'skips'}): `
    const text = (await lines.question(prompt, { signal })).trim()
    if (text === '') return undefined
    const value = parsePromptValue(text, property, choices)
    if (value !== INVALID) return value
  }
}

/** Lists primitive choices of an unvalidated schema. */
function getChoices(property: unknown): readonly unknown[] | undefined {
  if (!isObject(property)) return undefined
  const { enum: values, oneOf } = property
  const named = Array.isArray(oneOf) ? oneOf.filter(isObject).map(one => one.const) : undefined
  const choices = Array.isArray(values) ? (values as unknown[]) : named
  return choices?.filter(choice => typeof choice !== 'object')
}

function parsePromptValue(text: string, property: unknown, choices: readonly unknown[] | undefined): unknown {
  if (choices !== undefined) return choices.find(choice => String(choice) === text) ?? INVALID
  const type = isObject(property) ? property.type : undefined
  if (type === 'boolean') return parseYesNo(text)
  if (type !== 'number' && type !== 'integer') return text
  const number = Number(text)
  const isFit = type === 'number' ? Number.isFinite(number) : Number.isInteger(number)
  return isFit ? number : INVALID
}

function parseYesNo(text: string): unknown {
  if (/^(y|yes|true)$/i.test(text)) return true
  return /^(n|no|false)$/i.test(text) ? false : INVALID
}

/** Asks a question and returns the typed line. */
export type AskQuestion = (question: string) => Promise<string>

/** True if stdin and stderr are terminals. */
export function canAsk({ err }: Pick<Terminal, 'err'>, host: Host): boolean {
  return host.stdin.isTTY && err.width !== undefined
}

/**
 * Runs `use` with prompts on stderr.
 * @throws GatewayError GW_INTERRUPTED on Ctrl-C or Ctrl-D
 */
export async function withQuestions<T>(host: Host, use: (ask: AskQuestion) => Promise<T>): Promise<T> {
  const lines = createInterface({ input: host.stdin, output: host.stderr })
  // Abort on close, because the pending question would never resolve.
  const inputClosed = new AbortController()
  lines.once('close', () => inputClosed.abort())
  const ask: AskQuestion = question =>
    lines.question(sanitizeText(question), { signal: inputClosed.signal }).catch((cause: unknown) => {
      host.stderr.write('\n')
      throw gatewayError('GW_INTERRUPTED', { cause })
    })
  try {
    return await use(ask)
  } finally {
    lines.close()
  }
}

/** Asks a question; only yes counts. @throws GatewayError GW_INTERRUPTED */
export async function askYesNo(question: string, host: Host): Promise<boolean> {
  const answer = await withQuestions(host, ask => ask(`${question} [y/N] `))
  return /^y(es)?$/i.test(answer.trim())
}

/** Response to a confirmation; `not asked` if nothing is to be written. */
export type Consent = 'given' | 'declined' | 'not asked'

interface ConsentFlags {
  readonly yes: boolean
  readonly 'dry-run': boolean
}

/**
 * Asks for confirmation; only yes counts.
 * @throws GatewayError GW_USAGE without a terminal, GW_INTERRUPTED
 */
export async function promptForConsent(
  question: string,
  { yes, 'dry-run': isDry }: ConsentFlags,
  terminal: Terminal,
  host: Host,
): Promise<Consent> {
  if (isDry) return 'not asked'
  if (yes) return 'given'
  if (!canAsk(terminal, host))
    throw gatewayError('GW_USAGE', {
      what: 'nothing was written: no terminal to ask for confirmation; use --yes',
    })
  if (await askYesNo(question, host)) return 'given'
  terminal.err.line('nothing was written')
  return 'declined'
}
