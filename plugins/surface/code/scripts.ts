import { Worker } from 'node:worker_threads'
import type { Answer, Exchange, JsonObject } from '../../../src/plugin.ts'
import { estimateBytes, isObject, principalKey, tryParseJson } from '../../../src/plugin.ts'
import type { Surface } from '../listing.ts'
import { describeUnknownTool, textAnswer, toolFailure } from '../meta-tool-answers.ts'
import type { FromSandbox, ScriptLimits, ToSandbox } from './sandbox.ts'

/** Calls a tool for a script; resolves to JSON: `{ value }` or `{ error }`. */
type ScriptCall = (name: string, args: string) => Promise<string>

/** Script result as JSON, or an error message. */
interface ScriptResult {
  readonly hasFailed: boolean
  readonly text: string
}

/** Thread limits, in addition to the script's own memory. */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }
/** Time for a thread to start on a busy machine, and to report its end. */
const START_TIMEOUT_MS = 30_000
const GRACE_MS = 2000

/** Runs a script in its own thread, terminated afterwards, so that scripts share no state. Never rejects. */
async function runScript(
  script: string,
  limits: ScriptLimits,
  call: ScriptCall,
  signal: AbortSignal,
): Promise<ScriptResult> {
  const { MARK, SANDBOX } = await import('./sandbox.ts')
  if (signal.aborted) return failScript('cancelled')
  // Pass no environment and flags: a script that escapes its engine finds no secrets.
  const worker = new Worker(new URL(SANDBOX), {
    workerData: { mark: MARK, script, limits },
    env: {},
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: THREAD_LIMITS,
  })
  worker.unref()
  return new Promise(resolve => {
    const onTimeout = (): void => finish(failScript('timed out'))
    let timer = setTimeout(onTimeout, START_TIMEOUT_MS)
    const cancelled = (): void => finish(failScript('cancelled'))
    let isOver = false
    const finish = (result: ScriptResult): void => {
      isOver = true
      clearTimeout(timer)
      signal.removeEventListener('abort', cancelled)
      void worker.terminate()
      resolve(result)
    }
    signal.addEventListener('abort', cancelled)
    let made = 0
    worker.on('message', (message: FromSandbox) => {
      if (isOver) return
      if (message.kind === 'begun') {
        clearTimeout(timer)
        timer = setTimeout(onTimeout, limits.ms + GRACE_MS)
      } else if (message.kind === 'end') finish({ hasFailed: message.hasFailed, text: message.text })
      // Also counted in the thread, which is not trusted.
      else if (++made <= limits.calls) void answerCall(worker, message, call)
    })
    worker.on('error', (error: Error & { readonly code?: string }) => finish(failScript(describeWorkerError(error))))
    worker.on('exit', () => finish(failScript('the script thread exited')))
  })
}

async function answerCall(
  worker: Worker,
  { id, name, args }: Extract<FromSandbox, { kind: 'call' }>,
  call: ScriptCall,
): Promise<void> {
  const text = await call(name, args).catch(() => formatFault('the call failed'))
  worker.postMessage({ id, text } satisfies ToSandbox)
}

function formatFault(error: string): string {
  return JSON.stringify({ error })
}

function failScript(text: string): ScriptResult {
  return { hasFailed: true, text }
}

function describeWorkerError(error: Error & { readonly code?: string }): string {
  return error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out of memory' : 'the script thread failed'
}

/** Maximum concurrent scripts, in total and per caller. */
const MAX_RUNNING = 8
const MAX_SCRIPTS_PER_CALLER = 2
/** Maximum characters in a script, and in one call's arguments. */
const MAX_LENGTH = 64 * 1024
const MAX_ARGUMENTS_LENGTH = 256 * 1024
/** Maximum tool result bytes for a script. */
const MAX_READ_BYTES = 4 * 1024 * 1024
/** Maximum tokens in a script result. */
const MAX_TOKENS = 8000

/** Runs scripts; their tool calls take the normal pipeline. */
export class Scripts {
  readonly #running = new Map<string, number>()

  async runCode(surface: Surface, exchange: Exchange): Promise<Answer> {
    const args = exchange.params?.arguments
    const code = isObject(args) ? args.code : undefined
    const problem = checkCode(code)
    if (problem !== undefined) return toolFailure(problem)
    const caller = principalKey(exchange.principal)
    if (!this.#tryStart(caller)) return toolFailure('Too many scripts are running: try again later')
    try {
      return await answerScript(String(code), surface, exchange)
    } finally {
      this.#finish(caller)
    }
  }

  #tryStart(caller: string): boolean {
    const own = this.#running.get(caller) ?? 0
    const all = [...this.#running.values()].reduce((sum, count) => sum + count, 0)
    if (own >= MAX_SCRIPTS_PER_CALLER || all >= MAX_RUNNING) return false
    this.#running.set(caller, own + 1)
    return true
  }

  #finish(caller: string): void {
    const remaining = (this.#running.get(caller) ?? 1) - 1
    if (remaining === 0) this.#running.delete(caller)
    else this.#running.set(caller, remaining)
  }
}

/** Returns an error message for an invalid script. */
function checkCode(code: unknown): string | undefined {
  if (typeof code !== 'string' || code.trim() === '') return '"code" must be a script'
  return code.length > MAX_LENGTH ? `"code" must have at most ${MAX_LENGTH} characters` : undefined
}

async function answerScript(code: string, surface: Surface, exchange: Exchange): Promise<Answer> {
  const { timeoutMs, memory, calls } = surface.settings.code
  const limits = {
    ms: timeoutMs,
    memory,
    calls,
    argumentLength: MAX_ARGUMENTS_LENGTH,
    resultLength: estimateBytes(MAX_TOKENS),
  }
  const result = await runScript(
    code,
    limits,
    (name, args) => callForScript(name, args, surface, exchange),
    exchange.signal,
  )
  if (result.hasFailed) return toolFailure(`The script failed: ${result.text}`)
  return textAnswer(result.text === '' ? 'The script returned nothing.' : result.text)
}

async function callForScript(name: string, text: string, surface: Surface, exchange: Exchange): Promise<string> {
  if (surface.findMetaTool(name) !== undefined) return formatFault(`${name} cannot be called in a script`)
  const args: unknown = JSON.parse(text)
  if (!isObject(args)) return formatFault('the arguments of a tool must be one object')
  const answer = await exchange.callTool(name, args)
  if ('error' in answer) {
    const { message } = answer.error
    return formatFault(message.startsWith('Unknown tool') ? await describeUnknownTool(surface, name) : message)
  }
  if (!('result' in answer)) return formatFault(`${name} needs input from the client: call it without a script`)
  if (answer.result.bytes().length > MAX_READ_BYTES)
    return formatFault(`the result of ${name} is too large for a script`)
  const result = answer.result.value()
  return result.isError === true ? formatFault(joinTextBlocks(result)) : JSON.stringify({ value: extractValue(result) })
}

/** Result data: structured content, else text parsed as JSON if possible, else the blocks. */
function extractValue(result: JsonObject): unknown {
  const { structuredContent, content } = result
  if (structuredContent !== undefined) return structuredContent
  if (Array.isArray(content) && content.some(block => !isTextBlock(block))) return content
  const text = joinTextBlocks(result)
  return /^\s*[[{]/.test(text) ? (tryParseJson(text) ?? text) : text
}

function joinTextBlocks({ content }: JsonObject): string {
  const blocks: unknown[] = Array.isArray(content) ? content : []
  return blocks.map(block => (isTextBlock(block) ? block.text : '')).join('\n')
}

function isTextBlock(block: unknown): block is { readonly text: string } {
  return isObject(block) && block.type === 'text' && typeof block.text === 'string'
}
