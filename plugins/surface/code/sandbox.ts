import type { MessagePort } from 'node:worker_threads'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import type * as QuickJs from 'quickjs-emscripten-core'
import type { QuickJSContext, QuickJSHandle, QuickJSRuntime } from 'quickjs-emscripten-core'

/** Wraps the script without changing its line numbers. */
const WRAPPER = ['(async (tools, call, console) => {', '\n})'] as const

/**
 * Bootstrap code inside the engine: defines `tools`, `call` and `console`, and returns the result as JSON. Changes to
 * builtins affect only the script itself, because only strings leave the engine.
 */
function createBootstrap(): string {
  return `(${bootstrap.toString()})`
}

type Send = (name: string, args: string) => Promise<string>
type End = (kind: string, text: string) => void

function bootstrap(main: (...args: unknown[]) => Promise<unknown>, send: Send, end: End): void {
  const { parse, stringify } = JSON
  const mostNotes = 4000
  let notes = ''
  const note = (...values: unknown[]): void => {
    const line = values.map(value => (typeof value === 'string' ? value : stringify(value))).join(' ')
    if (notes.length < mostNotes) notes += `${line.slice(0, mostNotes)}\n`
  }
  const call = async (name: unknown, args: unknown = {}): Promise<unknown> => {
    const answer = parse(await send(String(name), stringify(args) ?? 'null')) as {
      value?: unknown
      error?: string
    }
    if (answer.error !== undefined) throw new Error(answer.error)
    return answer.value
  }
  const tools = new Proxy(
    {},
    {
      get: (_, name) => (typeof name === 'symbol' || name === 'then' ? undefined : (args: unknown) => call(name, args)),
    },
  )
  const endWithOutput = (kind: string, text: string): void => end(kind, notes === '' ? text : `${notes}${text}`)
  const fault = (thrown: unknown): string => {
    const { name, message, stack } = Object(thrown) as Error
    if (typeof message !== 'string') return String(thrown)
    const line = /script\.js:(\d+)/.exec(String(stack))
    return `${name}: ${message}${line === null ? '' : ` (line ${line[1] ?? ''})`}`
  }
  const console = { log: note, info: note, warn: note, error: note, debug: note }
  const run = async (): Promise<void> => {
    try {
      endWithOutput('done', stringify(await main(tools, call, console)) ?? '')
    } catch (thrown) {
      endWithOutput('failed', fault(thrown))
    }
  }
  void run()
}

/** Thread entry point: this file. */
export const SANDBOX = import.meta.url

/** Marks the script thread, because the gateway imports this file too. */
export const MARK = 'tapgate-script'

interface EvalResult<T> {
  readonly error?: QuickJSHandle | undefined
  readonly value?: T | undefined
}

/** Variables, so that the compiler does not resolve optional packages. */
const PACKAGE: string = 'quickjs-emscripten-core'
const VARIANT: string = '@jitl/quickjs-wasmfile-release-sync'

/** Below the WebAssembly stack size, so that deep recursion fails in the script. */
const STACK = 256 * 1024

interface ScriptTask {
  readonly mark: string
  readonly script: string
  readonly limits: ScriptLimits
}

async function serve(port: MessagePort, { script, limits }: ScriptTask): Promise<void> {
  const { newQuickJSWASMModuleFromVariant } = (await import(PACKAGE)) as typeof QuickJs
  const { default: variant } = (await import(VARIANT)) as { default: QuickJs.QuickJSSyncVariant }
  const runtime = (await newQuickJSWASMModuleFromVariant(variant)).newRuntime()
  runtime.setMemoryLimit(limits.memory)
  runtime.setMaxStackSize(STACK)
  port.postMessage({ kind: 'begun' } satisfies FromSandbox)
  new ScriptRun(port, runtime, limits).start(script)
}

/** One script in its own engine. */
class ScriptRun {
  readonly #port: MessagePort
  readonly #runtime: QuickJSRuntime
  readonly #vm: QuickJSContext
  readonly #limits: ScriptLimits
  readonly #waiting = new Map<number, (text: string) => void>()
  #callCount = 0
  #isOver = false
  #isLate = false

  constructor(port: MessagePort, runtime: QuickJSRuntime, limits: ScriptLimits) {
    this.#port = port
    this.#runtime = runtime
    this.#limits = limits
    const until = Date.now() + limits.ms
    runtime.setInterruptHandler(() => (this.#isLate ||= Date.now() > until))
    this.#vm = runtime.newContext()
  }

  start(script: string): void {
    const vm = this.#vm
    this.#port.on('message', ({ id, text }: ToSandbox) => {
      this.#waiting.get(id)?.(text)
      this.#waiting.delete(id)
      this.#runPendingJobs()
    })
    const start = this.#unwrap(vm.evalCode(createBootstrap(), 'gateway.js'))
    const main = this.#unwrap(vm.evalCode(WRAPPER[0] + script + WRAPPER[1], 'script.js'))
    if (start === undefined || main === undefined) return
    const call = vm.newFunction('call', (name, args) => this.#startCall(name, args))
    const end = vm.newFunction('end', (kind, text) => this.#finish(readString(vm, kind), readString(vm, text)))
    if (this.#unwrap(vm.callFunction(start, vm.undefined, main, call, end)) !== undefined) this.#runPendingJobs()
  }

  #startCall(name: QuickJSHandle | undefined, args: QuickJSHandle | undefined): QuickJSHandle {
    const id = ++this.#callCount
    const promise = this.#vm.newPromise()
    const resolveCall = (text: string): void => {
      const value = this.#vm.newString(text)
      promise.resolve(value)
      value.dispose()
    }
    const message = {
      kind: 'call',
      id,
      name: readString(this.#vm, name),
      args: readString(this.#vm, args),
    } as const
    const refused = this.#checkCall(message.name, message.args)
    if (refused === undefined) {
      this.#waiting.set(id, resolveCall)
      this.#postMessage(message)
    } else resolveCall(JSON.stringify({ error: refused }))
    return promise.handle
  }

  /** Rejects a call in the thread, before the gateway has to store its arguments. */
  #checkCall(name: string, args: string): string | undefined {
    const { calls, argumentLength } = this.#limits
    if (this.#callCount > calls) return `limit of ${calls} calls exceeded`
    return name.length + args.length > argumentLength ? 'the arguments are too large' : undefined
  }

  /** Runs pending jobs; fails if none can run and no call is open. */
  #runPendingJobs(): void {
    if (this.#isOver || this.#unwrap(this.#runtime.executePendingJobs()) === undefined) return
    if (!this.#isOver && this.#waiting.size === 0) this.#finish('failed', 'it waits for a promise that never settles')
  }

  /** Returns the value; a failed evaluation ends the script. */
  #unwrap<T>({ error, value }: EvalResult<T>): T | undefined {
    if (error === undefined) return value
    this.#finish('failed', describeFault(this.#vm.dump(error)))
    return undefined
  }

  #finish(kind: string, text: string): undefined {
    if (this.#isOver) return
    this.#isOver = true
    const { resultLength } = this.#limits
    const isLong = kind === 'done' && text.length > resultLength
    const resultText = isLong ? `the result is too large (${text.length} characters): return less` : text
    const finalText = this.#isLate ? 'timed out' : resultText.slice(0, resultLength)
    this.#postMessage({ kind: 'end', hasFailed: kind !== 'done' || isLong || this.#isLate, text: finalText })
  }

  #postMessage(message: FromSandbox): void {
    this.#port.postMessage(message)
  }
}

function readString(vm: QuickJSContext, handle: QuickJSHandle | undefined): string {
  return handle === undefined ? '' : vm.getString(handle)
}

function describeFault(thrown: unknown): string {
  const { name, message } = Object(thrown) as { name?: unknown; message?: unknown }
  return (typeof message === 'string' ? `${String(name)}: ${message}` : String(thrown)).slice(0, 1000)
}

function isTask(value: unknown): value is ScriptTask {
  return typeof value === 'object' && value !== null && 'mark' in value && value.mark === MARK
}

if (!isMainThread && parentPort !== null && isTask(workerData)) {
  const port = parentPort
  const task = workerData
  serve(port, task).catch((thrown: unknown) => {
    const text = `the engine failed: ${String(thrown).slice(0, 500)}`
    port.postMessage({ kind: 'end', hasFailed: true, text } satisfies FromSandbox)
  })
}

export interface ScriptLimits {
  /** Milliseconds for the script, including its tool calls. */
  readonly ms: number
  /** Memory in bytes. */
  readonly memory: number
  /** Maximum tool calls. */
  readonly calls: number
  /** Maximum characters for one call's arguments, and for the result. */
  readonly argumentLength: number
  readonly resultLength: number
}

/** Message from the script thread: engine started, a tool call with JSON arguments, or the end. */
export type FromSandbox =
  | { readonly kind: 'begun' }
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly args: string }
  | { readonly kind: 'end'; readonly hasFailed: boolean; readonly text: string }

/** Answer to a tool call, as JSON: `{ value }` or `{ error }`. */
export interface ToSandbox {
  readonly id: number
  readonly text: string
}
