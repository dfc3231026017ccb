import type { Answer, Exchange, JsonObject } from '../../../src/plugin.ts'
import { estimateBytes, isObject, principalKey } from '../../../src/plugin.ts'
import { failed, said, unknownTool } from '../answers.ts'
import type { Surface } from '../shown.ts'
import { fault, runScript } from './run.ts'

/** Scripts that run at the same time, of all callers and of one. */
const MAX_RUNNING = 8
const MAX_SCRIPTS_PER_CALLER = 2
/** Characters of a script, and of the arguments of one call. */
const MAX_LENGTH = 64 * 1024
const MAX_ARGUMENTS_LENGTH = 256 * 1024
/** Bytes of a result that a script may read. */
const MAX_READ_BYTES = 4 * 1024 * 1024
/** Tokens of the result of a script. */
const MAX_TOKENS = 8000

/** Runs scripts of callers; the calls in them take the road of any other call. */
export class Scripts {
  readonly #running = new Map<string, number>()

  async run(surface: Surface, exchange: Exchange): Promise<Answer> {
    const code = codeIn(exchange.params?.arguments)
    if (code.problem !== undefined) return failed(code.problem)
    const caller = principalKey(exchange.principal)
    if (!this.#begin(caller)) return failed('Too many scripts are running: try again')
    try {
      return await scripted(code.text, surface, exchange)
    } finally {
      this.#end(caller)
    }
  }

  #begin(caller: string): boolean {
    const own = this.#running.get(caller) ?? 0
    const all = [...this.#running.values()].reduce((sum, count) => sum + count, 0)
    if (own >= MAX_SCRIPTS_PER_CALLER || all >= MAX_RUNNING) return false
    this.#running.set(caller, own + 1)
    return true
  }

  #end(caller: string): void {
    const left = (this.#running.get(caller) ?? 1) - 1
    if (left === 0) this.#running.delete(caller)
    else this.#running.set(caller, left)
  }
}

type Code =
  | { readonly text: string; readonly problem?: undefined }
  | { readonly text?: undefined; readonly problem: string }

function codeIn(args: unknown): Code {
  const code = isObject(args) ? args.code : undefined
  if (typeof code !== 'string' || code.trim() === '') return { problem: '"code" must be a script' }
  if (code.length > MAX_LENGTH) return { problem: `"code" may have ${MAX_LENGTH} characters at most` }
  return { text: code }
}

async function scripted(code: string, surface: Surface, exchange: Exchange): Promise<Answer> {
  const { timeoutMs, memory, calls } = surface.settings.code
  const limits = {
    ms: timeoutMs,
    memory,
    calls,
    argumentLength: MAX_ARGUMENTS_LENGTH,
    resultLength: estimateBytes(MAX_TOKENS),
  }
  const ended = await runScript(
    code,
    limits,
    (name, args) => called(name, args, surface, exchange),
    exchange.signal,
  )
  if (ended.hasFailed) return failed(`The script failed: ${ended.text}`)
  return said(ended.text === '' ? 'The script returned nothing.' : ended.text)
}

async function called(name: string, text: string, surface: Surface, exchange: Exchange): Promise<string> {
  if (surface.meta(name) !== undefined) return fault(`${name} cannot be called in a script`)
  const args: unknown = JSON.parse(text)
  if (!isObject(args)) return fault('the arguments of a tool are one object')
  const answer = await exchange.callTool(name, args)
  if ('error' in answer) {
    const { message } = answer.error
    return fault(message.startsWith('Unknown tool') ? await unknownTool(surface, name) : message)
  }
  if (!('result' in answer)) return fault(`${name} asks its client something: call it without a script`)
  if (answer.result.bytes().length > MAX_READ_BYTES)
    return fault(`the result of ${name} is too large for a script`)
  const result = answer.result.value()
  return result.isError === true ? fault(textOf(result)) : JSON.stringify({ value: valueOf(result) })
}

/** Data of a result: what is structured, else its text – read, where it is JSON –, else its blocks. */
function valueOf(result: JsonObject): unknown {
  const { structuredContent, content } = result
  if (structuredContent !== undefined) return structuredContent
  if (Array.isArray(content) && content.some(block => !isText(block))) return content
  const text = textOf(result)
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

function textOf({ content }: JsonObject): string {
  const blocks: unknown[] = Array.isArray(content) ? content : []
  return blocks.map(block => (isText(block) ? block.text : '')).join('\n')
}

function isText(block: unknown): block is { readonly text: string } {
  return isObject(block) && block.type === 'text' && typeof block.text === 'string'
}
