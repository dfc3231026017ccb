import type { MessagePort } from 'node:worker_threads'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import type { FromSandbox, Limits, ToSandbox } from './messages.ts'

/** Code around a script: its lines keep their numbers. */
const WRAPPER = ['(async (tools, call, console) => {', '\n})'] as const

/**
 * Code that runs before a script, in its engine: it makes `tools`, `call` and `console`, and hands the result over as JSON. Whatever a
 * script does to the builtins of its engine, it does to itself: only texts leave it.
 */
function startOf(): string {
  return `(${start.toString()})`
}

type Send = (name: string, args: string) => Promise<string>
type End = (kind: string, text: string) => void

function start(main: (...given: unknown[]) => Promise<unknown>, send: Send, end: End): void {
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
      get: (_, name) =>
        typeof name === 'symbol' || name === 'then' ? undefined : (args: unknown) => call(name, args),
    },
  )
  const ending = (kind: string, text: string): void => end(kind, notes === '' ? text : `${notes}${text}`)
  const fault = (thrown: unknown): string => {
    const { name, message, stack } = Object(thrown) as Error
    if (typeof message !== 'string') return String(thrown)
    const line = /script\.js:(\d+)/.exec(String(stack))
    return `${name}: ${message}${line === null ? '' : ` (line ${line[1] ?? ''})`}`
  }
  const console = { log: note, info: note, warn: note, error: note, debug: note }
  const run = async (): Promise<void> => {
    try {
      ending('done', stringify(await main(tools, call, console)) ?? '')
    } catch (thrown) {
      ending('failed', fault(thrown))
    }
  }
  void run()
}

/** File that the thread of a script runs: this one. */
export const SANDBOX = import.meta.url

/** Marks the thread: this file is loaded by the gateway as well, for its address. */
export const MARK = 'tapgate-script'

/** Parts of quickjs-emscripten that are used here. */
interface Handle {
  dispose(): void
}
interface Outcome {
  readonly error?: Handle
  readonly value?: Handle
}
interface Vm {
  readonly undefined: Handle
  readonly global: Handle
  newString(text: string): Handle
  newFunction(name: string, run: (...handles: Handle[]) => Handle | undefined): Handle
  newPromise(): { readonly handle: Handle; resolve(value: Handle): void; dispose(): void }
  getString(handle: Handle): string
  setProp(on: Handle, name: string, value: Handle): void
  evalCode(code: string, name: string): Outcome
  callFunction(run: Handle, self: Handle, ...args: Handle[]): Outcome
  dump(handle: Handle): unknown
}
interface Runtime {
  setMemoryLimit(bytes: number): void
  setMaxStackSize(bytes: number): void
  setInterruptHandler(isOver: () => boolean): void
  executePendingJobs(): Outcome
  newContext(): Vm
}
interface QuickJs {
  newQuickJSWASMModuleFromVariant(variant: unknown): Promise<{ newRuntime(): Runtime }>
}

/** Names that the compiler need not find: a gateway without scripts does without the packages. */
const PACKAGE: string = 'quickjs-emscripten-core'
const VARIANT: string = '@jitl/quickjs-wasmfile-release-sync'

/** Less than the stack of the WebAssembly, so that deep recursion is an error of the script. */
const STACK = 256 * 1024

interface Task {
  readonly mark: string
  readonly script: string
  readonly limits: Limits
}

async function serve(port: MessagePort, { script, limits }: Task): Promise<void> {
  const { newQuickJSWASMModuleFromVariant } = (await import(PACKAGE)) as QuickJs
  const { default: variant } = (await import(VARIANT)) as { default: unknown }
  const runtime = (await newQuickJSWASMModuleFromVariant(variant)).newRuntime()
  runtime.setMemoryLimit(limits.memory)
  runtime.setMaxStackSize(STACK)
  port.postMessage({ kind: 'begun' } satisfies FromSandbox)
  new Script(port, runtime, limits).run(script)
}

/** One script in its own engine. */
class Script {
  readonly #port: MessagePort
  readonly #runtime: Runtime
  readonly #vm: Vm
  readonly #limits: Limits
  readonly #waiting = new Map<number, (text: string) => void>()
  #calls = 0
  #isOver = false
  #isLate = false

  constructor(port: MessagePort, runtime: Runtime, limits: Limits) {
    this.#port = port
    this.#runtime = runtime
    this.#limits = limits
    const until = Date.now() + limits.ms
    runtime.setInterruptHandler(() => (this.#isLate ||= Date.now() > until))
    this.#vm = runtime.newContext()
  }

  run(script: string): void {
    const vm = this.#vm
    this.#port.on('message', ({ id, text }: ToSandbox) => {
      this.#waiting.get(id)?.(text)
      this.#waiting.delete(id)
      this.#goOn()
    })
    const start = this.#value(vm.evalCode(startOf(), 'gateway.js'))
    const main = this.#value(vm.evalCode(WRAPPER[0] + script + WRAPPER[1], 'script.js'))
    if (start === undefined || main === undefined) return
    const call = vm.newFunction('call', (name, args) => this.#call(name, args))
    const end = vm.newFunction('end', (kind, text) => this.#end(textOf(vm, kind), textOf(vm, text)))
    if (this.#value(vm.callFunction(start, vm.undefined, main, call, end)) !== undefined) this.#goOn()
  }

  #call(name: Handle | undefined, args: Handle | undefined): Handle {
    const id = ++this.#calls
    const promise = this.#vm.newPromise()
    const answered = (text: string): void => {
      const value = this.#vm.newString(text)
      promise.resolve(value)
      value.dispose()
    }
    const message = { kind: 'call', id, name: textOf(this.#vm, name), args: textOf(this.#vm, args) } as const
    const refused = this.#refusal(message.name, message.args)
    if (refused === undefined) {
      this.#waiting.set(id, answered)
      this.#tell(message)
    } else answered(JSON.stringify({ error: refused }))
    return promise.handle
  }

  /** Why a call is not even told to the gateway, which must not have to keep what scripts think up. */
  #refusal(name: string, args: string): string | undefined {
    const { calls, argumentLength } = this.#limits
    if (this.#calls > calls) return `a script may make ${calls} calls`
    return name.length + args.length > argumentLength ? 'the arguments are too large' : undefined
  }

  /** Runs what can run; where nothing can and nothing is waited for, nothing ever will. */
  #goOn(): void {
    if (this.#isOver || this.#value(this.#runtime.executePendingJobs()) === undefined) return
    if (!this.#isOver && this.#waiting.size === 0)
      this.#end('failed', 'it waits for something that never comes')
  }

  /** The value of an outcome; one that failed is the end. */
  #value({ error, value }: Outcome): Handle | undefined {
    if (error === undefined) return value ?? this.#vm.undefined
    this.#end('failed', faultOf(this.#vm.dump(error)))
    return undefined
  }

  #end(kind: string, text: string): undefined {
    if (this.#isOver) return
    this.#isOver = true
    const { resultLength } = this.#limits
    const isLong = kind === 'done' && text.length > resultLength
    const told = isLong ? `the result is too large (${text.length} characters): return less` : text
    const late = this.#isLate ? 'it takes too long' : told.slice(0, resultLength)
    this.#tell({ kind: 'end', hasFailed: kind !== 'done' || isLong || this.#isLate, text: late })
  }

  #tell(message: FromSandbox): void {
    this.#port.postMessage(message)
  }
}

function textOf(vm: Vm, handle: Handle | undefined): string {
  return handle === undefined ? '' : vm.getString(handle)
}

function faultOf(thrown: unknown): string {
  const { name, message, stack } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as {
    name?: unknown
    message?: unknown
    stack?: unknown
  }
  if (typeof message !== 'string') return String(thrown).slice(0, 1000)
  const line = typeof stack === 'string' ? /script\.js:(\d+)/.exec(stack)?.[1] : undefined
  return `${String(name)}: ${message}${line === undefined ? '' : ` (line ${line})`}`.slice(0, 1000)
}

function isTask(value: unknown): value is Task {
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
