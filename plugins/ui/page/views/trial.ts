import { html } from 'htm/preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Json } from '../../types.ts'
import { Failure, post, runTool } from '../api.ts'
import { filledIn, type Values } from './filled-in.ts'
import { Form } from './form.ts'
import { Act, Badge, Problem, Snippet, type View } from '../parts.ts'
import { count } from '../texts.ts'

interface Said {
  readonly event: string
  readonly [key: string]: unknown
}

/** Runs a tool from a form that its schema makes, and shows all that happens. */
export function Trial({ tool, schema }: { tool: string; schema: Json | undefined }): View {
  const [values, setValues] = useState<Values>({})
  const [said, setSaid] = useState<readonly Said[]>([])
  const [problem, setProblem] = useState<Failure>()
  const [isRunning, setRunning] = useState(false)
  const stop = useRef<AbortController>(undefined)
  useEffect(() => () => stop.current?.abort(), [])
  const run = (event: Event): void => {
    event.preventDefault()
    if (isRunning) return
    const args = filledIn(schema, values)
    if (typeof args === 'string') return setProblem(new Failure(0, args))
    setProblem(undefined)
    setSaid([])
    setRunning(true)
    stop.current = new AbortController()
    runTool(
      { name: tool, arguments: args },
      one => setSaid(all => [...all.slice(-MOST_SAID), one as Said]),
      stop.current.signal,
    )
      .catch((error: unknown) => setProblem(error instanceof Failure ? error : undefined))
      .finally(() => setRunning(false))
  }
  return html`<form onSubmit=${run}>
      <${Form} schema=${schema} values=${values} change=${setValues} hasRaw=${true} />
      <div class="row start">
        <button class="main" aria-busy=${isRunning}>${isRunning ? 'Runs …' : 'Call it'}</button>
        ${isRunning ? html`<button type="button" onClick=${() => stop.current?.abort()}>Stop</button>` : null}
      </div>
    </form>
    <${Problem} of=${problem} />
    <div aria-live="polite">
      ${said.map(one => html`<${Heard} of=${one} key=${String(one.id ?? '')} />`)}
    </div>`
}

/** Events that are shown at a time. */
const MOST_SAID = 200

function Heard({ of }: { of: Said }): View {
  if (of.event === 'progress') return html`<${Progress} of=${of} />`
  if (of.event === 'log') return html`<p class="soft">${String(of.level ?? '')}: ${textOf(of.data)}</p>`
  if (of.event === 'ask') return html`<${Asked} of=${of} />`
  if (of.event === 'error')
    return html`<p class="problem" role="alert">${String(of.code ?? '')} ${textOf(of.message)}</p>`
  return html`<${Result} of=${of} />`
}

function Progress({ of }: { of: Said }): View {
  const { progress, total, message } = of
  const text = `${count(Number(progress))}${typeof total === 'number' ? ` of ${count(total)}` : ''} ${textOf(message ?? '')}`
  return html`<p><progress value=${progress} max=${total} aria-label="Progress"></progress> ${text}</p>`
}

function Result({ of }: { of: Said }): View {
  const { event: _, content, ...rest } = of
  const parts = Array.isArray(content) ? (content as Json[]) : []
  const isError = of.isError === true
  return html`<div class="result">
    <p><${Badge} of=${isError ? 'is_error' : 'ok'} /></p>
    ${parts.map(part => html`<${Snippet} label="Result" text=${typeof part.text === 'string' ? part.text : JSON.stringify(part, undefined, 2)} />`)}
    ${rest.structuredContent === undefined ? null : html`<${Snippet} label="Structured result" text=${JSON.stringify(rest.structuredContent, undefined, 2)} />`}
  </div>`
}

/** A question of the server in the middle of its call. */
function Asked({ of }: { of: Said }): View {
  const schema = of.requestedSchema as Json | undefined
  const [values, setValues] = useState<Values>({})
  const [isDone, setDone] = useState(false)
  const [problem, setProblem] = useState('')
  const answer = async (action: string): Promise<void> => {
    const content = action === 'accept' ? filledIn(schema, values) : undefined
    if (typeof content === 'string') return setProblem(content)
    await post('answer', { id: of.id, action, ...(content === undefined ? {} : { content }) })
    setDone(true)
  }
  if (isDone) return html`<p class="soft">Answered: ${textOf(of.message)}</p>`
  return html`<fieldset class="asked">
    <legend>The server asks</legend>
    <p class="told" dir="auto">${textOf(of.message)}</p>
    <${Form} schema=${schema} values=${values} change=${setValues} />
    ${problem === '' ? null : html`<p class="problem" role="alert">${problem}</p>`}
    <div class="row start">
      <${Act} label="Answer" kind="main" act=${() => answer('accept')} />
      <${Act} label="Decline" act=${() => answer('decline')} />
    </div>
  </fieldset>`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}
