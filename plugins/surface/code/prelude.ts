/** Code around a script: its lines keep their numbers. */
export const WRAPPER = ['(async (tools, call, console) => {', '\n})'] as const

/**
 * Code that runs before a script, in its engine: it makes `tools`, `call` and `console`, and hands the result over as JSON. Whatever a
 * script does to the builtins of its engine, it does to itself: only texts leave it.
 */
export function startOf(): string {
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
