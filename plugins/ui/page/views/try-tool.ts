import { html } from 'htm/preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Json } from '../../types.ts'
import type { Failure } from '../api.ts'
import { post, runTool, toFailure } from '../api.ts'
import { NO_VALUES, readForm } from '../fields.ts'
import { Form } from '../form.ts'
import type { View } from '../parts.ts'
import { Act, Badge, count, Problem, Snippet } from '../parts.ts'

interface TrialEvent {
  readonly event: string
  readonly [key: string]: unknown
}

/** Calls a tool with the values of a form, and shows all events. */
export function TryTool({ tool, schema }: { tool: string; schema: Json | undefined }): View {
  const [values, setValues] = useState(NO_VALUES)
  const [events, setEvents] = useState<readonly TrialEvent[]>([])
  const [problem, setProblem] = useState<Failure>()
  const [isRunning, setRunning] = useState(false)
  const stop = useRef<AbortController>(undefined)
  useEffect(() => () => stop.current?.abort(), [])
  const call = async (signal: AbortSignal): Promise<void> =>
    runTool(
      { name: tool, arguments: readForm(schema, values) },
      one => setEvents(all => [...all.slice(-MAX_EVENTS), one as TrialEvent]),
      signal,
    )
  const run = (event: Event): void => {
    event.preventDefault()
    if (isRunning) return
    stop.current = new AbortController()
    setProblem(undefined)
    setEvents([])
    setRunning(true)
    call(stop.current.signal)
      .catch((error: unknown) =>
        setProblem(stop.current?.signal.aborted === true ? undefined : toFailure(error)),
      )
      .finally(() => setRunning(false))
  }
  return html`<form onSubmit=${run}>
      <${Form} schema=${schema} values=${values} change=${setValues} />
      <div class="row start">
        <button class="main" aria-busy=${isRunning}>${isRunning ? 'Runs …' : 'Call it'}</button>
        ${isRunning ? html`<button type="button" onClick=${() => stop.current?.abort()}>Stop</button>` : null}
      </div>
    </form>
    <${Problem} of=${problem} />
    <div aria-live="polite">
      ${events.map(one => html`<${Shown} of=${one} key=${String(one.id ?? '')} />`)}
    </div>`
}

/** Events that are shown at a time. */
const MAX_EVENTS = 200

function Shown({ of }: { of: TrialEvent }): View {
  if (of.event === 'progress') return html`<${Progress} of=${of} />`
  if (of.event === 'log') return html`<p class="soft">${String(of.level ?? '')}: ${textOf(of.data)}</p>`
  if (of.event === 'ask') return html`<${Asked} of=${of} />`
  if (of.event === 'error')
    return html`<p class="problem" role="alert">${String(of.code ?? '')} ${textOf(of.message)}</p>`
  return html`<${Result} of=${of} />`
}

function Progress({ of }: { of: TrialEvent }): View {
  const { progress, total, message } = of
  const text = `${count(Number(progress))}${typeof total === 'number' ? ` of ${count(total)}` : ''} ${textOf(message ?? '')}`
  return html`<p><progress value=${progress} max=${total} aria-label="Progress"></progress> ${text}</p>`
}

function Result({ of }: { of: TrialEvent }): View {
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
function Asked({ of }: { of: TrialEvent }): View {
  const schema = of.requestedSchema as Json | undefined
  const [values, setValues] = useState(NO_VALUES)
  const [isDone, setDone] = useState(false)
  const answer = async (action: string): Promise<void> => {
    const content = action === 'accept' ? { content: readForm(schema, values) } : {}
    await post('answer', { id: of.id, action, ...content })
    setDone(true)
  }
  if (isDone) return html`<p class="soft">Answered: ${textOf(of.message)}</p>`
  return html`<fieldset class="asked">
    <legend>The server asks</legend>
    <p class="told" dir="auto">${textOf(of.message)}</p>
    <${Form} schema=${schema} values=${values} change=${setValues} />
    <div class="row start">
      <${Act} label="Answer" kind="main" act=${() => answer('accept')} />
      <${Act} label="Decline" act=${() => answer('decline')} />
    </div>
  </fieldset>`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}
