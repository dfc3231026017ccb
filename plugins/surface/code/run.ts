import { Worker } from 'node:worker_threads'
import type { FromSandbox, Limits, ToSandbox } from './messages.ts'

/** Call that a script makes; the answer is JSON: `{ value }` or `{ error }`. */
type ScriptCall = (name: string, args: string) => Promise<string>

/** End of a script: its result as JSON, or why there is none. */
interface Ended {
  readonly hasFailed: boolean
  readonly text: string
}

/** What a thread may take beside the values of its script. */
const THREAD = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }
/** Time that a thread may take to begin, on a machine with much to do, and to say its end. */
const BEGIN_MS = 30_000
const GRACE_MS = 2000

/** Runs a script in a thread of its own, which is ended with it: nothing of one script is left for the next. Never rejects. */
export async function runScript(
  script: string,
  limits: Limits,
  call: ScriptCall,
  signal: AbortSignal,
): Promise<Ended> {
  const { MARK, SANDBOX } = await import('./sandbox.ts')
  if (signal.aborted) return failed('it was cancelled')
  // Neither the environment nor the flags of the gateway: a script that got out of its engine would find no secret there.
  const worker = new Worker(new URL(SANDBOX), {
    workerData: { mark: MARK, script, limits },
    env: {},
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: THREAD,
  })
  // A gateway that is gone needs no end of it.
  worker.unref()
  return new Promise(resolve => {
    const late = (): void => end(failed('it takes too long'))
    let timer = setTimeout(late, BEGIN_MS)
    const cancelled = (): void => end(failed('it was cancelled'))
    let isOver = false
    const end = (ended: Ended): void => {
      isOver = true
      clearTimeout(timer)
      signal.removeEventListener('abort', cancelled)
      void worker.terminate()
      resolve(ended)
    }
    signal.addEventListener('abort', cancelled)
    let made = 0
    worker.on('message', (message: FromSandbox) => {
      if (isOver) return
      if (message.kind === 'begun') {
        clearTimeout(timer)
        timer = setTimeout(late, limits.ms + GRACE_MS)
      } else if (message.kind === 'end') end({ hasFailed: message.hasFailed, text: message.text })
      // Counted in the thread, too: nobody relies on what runs there.
      else if (++made <= limits.calls) void answer(worker, message, call)
    })
    worker.on('error', (error: Error & { readonly code?: string }) => end(failed(faultOf(error))))
    worker.on('exit', () => end(failed('its thread ended')))
  })
}

async function answer(
  worker: Worker,
  { id, name, args }: Extract<FromSandbox, { kind: 'call' }>,
  call: ScriptCall,
): Promise<void> {
  const text = await call(name, args).catch(() => fault('the call failed'))
  worker.postMessage({ id, text } satisfies ToSandbox)
}

/** JSON of a call that failed. */
export function fault(error: string): string {
  return JSON.stringify({ error })
}

function failed(text: string): Ended {
  return { hasFailed: true, text }
}

function faultOf(error: Error & { readonly code?: string }): string {
  return error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'it takes too much memory' : 'its thread failed'
}
