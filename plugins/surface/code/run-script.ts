import { Worker } from 'node:worker_threads'
import type { FromSandbox, ScriptLimits, ToSandbox } from './messages.ts'

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
export async function runScript(
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

export function formatFault(error: string): string {
  return JSON.stringify({ error })
}

function failScript(text: string): ScriptResult {
  return { hasFailed: true, text }
}

function describeWorkerError(error: Error & { readonly code?: string }): string {
  return error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out of memory' : 'the script thread failed'
}
