import { html } from 'htm/preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { Json } from '../../types.ts'
import type { ApiFailure } from '../api.ts'
import { postJson, runTool, toFailure } from '../api.ts'
import { NO_VALUES, readForm } from '../fields.ts'
import { Form } from '../form.ts'
import type { ViewNode } from '../components.ts'
import { ActionButton, Badge, formatCount, Problem, Snippet } from '../components.ts'
import { AwaySince, formatHash } from '../state.ts'

interface TrialEvent {
  readonly event: string
  readonly [key: string]: unknown
}

/** Calls a tool with form values, and shows its events. */
export function TryTool({ tool, schema }: { tool: string; schema: Json | undefined }): ViewNode {
  const [values, setValues] = useState(NO_VALUES)
  const [events, setEvents] = useState<readonly TrialEvent[]>([])
  const [problem, setProblem] = useState<ApiFailure>()
  const [isRunning, setRunning] = useState(false)
  const isAway = useContext(AwaySince) !== undefined
  const stop = useRef<AbortController>(undefined)
  useEffect(() => () => stop.current?.abort(), [])
  const callTool = async (signal: AbortSignal): Promise<void> =>
    runTool(
      { name: tool, arguments: readForm(schema, values) },
      one => setEvents(all => [...all.slice(-MAX_EVENTS), one as TrialEvent]),
      signal,
    )
  const submit = (event: Event): void => {
    event.preventDefault()
    if (isRunning) return
    stop.current = new AbortController()
    setProblem(undefined)
    setEvents([])
    setRunning(true)
    callTool(stop.current.signal)
      .catch((error: unknown) => setProblem(stop.current?.signal.aborted === true ? undefined : toFailure(error)))
      .finally(() => setRunning(false))
  }
  return html`<form onSubmit=${submit}>
      <${Form} schema=${schema} values=${values} change=${setValues} />
      <div class="row start">
        <button class="main" disabled=${isAway} aria-busy=${isRunning}>${isRunning ? 'Running …' : 'Call'}</button>
        ${isRunning ? html`<button type="button" onClick=${() => stop.current?.abort()}>Stop</button>` : null}
      </div>
    </form>
    <${Problem} of=${problem} />
    <div aria-live="polite">
      ${events.map(one => html`<${TrialEventView} of=${one} key=${String(one.id ?? '')} />`)}
    </div>
    ${isRunning || events.length === 0 ? null : html`<a href=${formatHash('calls', { tool })}>Show the call</a>`}`
}

const MAX_EVENTS = 200

function TrialEventView({ of }: { of: TrialEvent }): ViewNode {
  if (of.event === 'progress') return html`<${TrialProgress} of=${of} />`
  if (of.event === 'log') return html`<p class="soft">${String(of.level ?? '')}: ${formatValue(of.data)}</p>`
  if (of.event === 'ask') return html`<${TrialQuestion} of=${of} />`
  if (of.event === 'error')
    return html`<p class="problem" role="alert">${String(of.code ?? '')} ${formatValue(of.message)}</p>`
  return html`<${TrialResult} of=${of} />`
}

function TrialProgress({ of }: { of: TrialEvent }): ViewNode {
  const { progress, total, message } = of
  const text = `${formatCount(Number(progress))}${typeof total === 'number' ? ` of ${formatCount(total)}` : ''} ${formatValue(message ?? '')}`
  return html`<p><progress value=${progress} max=${total} aria-label="Progress"></progress> ${text}</p>`
}

function TrialResult({ of }: { of: TrialEvent }): ViewNode {
  const { event: _, content, ...rest } = of
  const parts = Array.isArray(content) ? (content as Json[]) : []
  const isError = of.isError === true
  return html`<div class="result">
    <p><${Badge} of=${isError ? 'is_error' : 'ok'} /></p>
    ${parts.map(part => html`<${Snippet} label="Result" text=${typeof part.text === 'string' ? part.text : JSON.stringify(part, undefined, 2)} />`)}
    ${rest.structuredContent === undefined ? null : html`<${Snippet} label="Structured result" text=${JSON.stringify(rest.structuredContent, undefined, 2)} />`}
  </div>`
}

/** Input request from the server during the call. */
function TrialQuestion({ of }: { of: TrialEvent }): ViewNode {
  const schema = of.requestedSchema as Json | undefined
  const [values, setValues] = useState(NO_VALUES)
  const [isDone, setDone] = useState(false)
  const sendAnswer = async (action: string): Promise<void> => {
    const content = action === 'accept' ? { content: readForm(schema, values) } : {}
    await postJson('answer', { id: of.id, action, ...content })
    setDone(true)
  }
  if (isDone) return html`<p class="soft">Answered: ${formatValue(of.message)}</p>`
  return html`<fieldset class="asked">
    <legend>Input required</legend>
    <p class="told" dir="auto">${formatValue(of.message)}</p>
    <${Form} schema=${schema} values=${values} change=${setValues} />
    <div class="row start">
      <${ActionButton} label="Answer" kind="main" act=${() => sendAnswer('accept')} />
      <${ActionButton} label="Decline" act=${() => sendAnswer('decline')} />
    </div>
  </fieldset>`
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}
