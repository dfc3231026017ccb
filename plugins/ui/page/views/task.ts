import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import type { Json } from '../../types.ts'
import { Failure, get, post, urlOf } from '../api.ts'
import type { View } from '../parts.ts'
import { Act, Badge, duration, Problem, Snippet, time } from '../parts.ts'
import type { PageLocation } from '../state.ts'
import { choose, useAnswer } from '../state.ts'
import { NO_VALUES, readForm } from '../fields.ts'
import { Form } from '../form.ts'

/** Answer of `GET task`. */
interface TaskDetail {
  readonly state: string
  readonly is_error: boolean
  readonly why?: string
  readonly agent?: string
  readonly routed_by: string
  readonly cwd: string
  readonly progress?: string
  readonly files_changed: readonly string[]
  readonly has_diff: boolean
  readonly denied: readonly string[]
  readonly warnings: readonly string[]
  readonly attempts: readonly { readonly agent: string; readonly failure?: string }[]
  readonly questions: readonly {
    readonly question_id: string
    readonly message: string
    readonly schema: Json
  }[]
  readonly duration_ms: number
  readonly events: readonly {
    readonly seq: number
    readonly at: number
    readonly kind: string
    readonly text: string
  }[]
}

/** Answer of `GET output`. */
interface Piece {
  readonly text: string
  /** Offset of the next piece. */
  readonly end: number
  readonly hasMore: boolean
}

export const TASK_TONES: Readonly<Record<string, string>> = {
  queued: 'quiet',
  starting: 'busy',
  running: 'busy',
  input_required: 'warn',
  interrupted: 'warn',
  completed: 'good',
  failed: 'bad',
  cancelled: 'quiet',
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled'])
const EVERY_MS = 1500
/** Of a longer text the end is shown. */
const MAX_TEXT = 256 * 1024
const MAX_EVENTS = 100

/** One task: what it says as it says it, what it changed, what it asks. */
export function OpenedTask({ id, place }: { id: string; place: PageLocation }): View {
  const { data, problem, again } = useAnswer<TaskDetail>(urlOf('task', { id }), { every: EVERY_MS })
  const close = html`<button type="button" onClick=${() => choose(place, { id: undefined })}>Close</button>`
  if (data === undefined) return html`<section class="detail"><${Problem} of=${problem} />${close}</section>`
  const isOver = ENDED.has(data.state)
  return html`<section class="detail" aria-label=${`Task ${id}`}>
    <div class="row">
      <h2>
        ${`${data.agent ?? 'No agent yet'} `}<${Badge}
          of=${data.state}
          tone=${data.is_error ? 'bad' : TASK_TONES[data.state]}
        />
      </h2>
      <span class="row">
        ${isOver ? null : html`<${Act} label="Cancel the task" kind="danger" act=${() => post('cancel', { task: id })} done=${again} />`}
        ${close}
      </span>
    </div>
    <${Problem} of=${problem} />
    ${data.questions.map(one => html`<${Asked} task=${id} of=${one} again=${again} key=${one.question_id} />`)}
    <dl>
      ${factsOf(id, data).map(
        ([name, text]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${text}</dd>
          </div>`,
      )}
    </dl>
    <h3>Output</h3>
    <${Output} id=${id} what="text" isOver=${isOver} none=${isOver ? 'It said nothing.' : 'Nothing yet.'} />
    ${
      data.has_diff
        ? html`<h3>Changes</h3>
            <${Output} id=${id} what="diff" isOver=${isOver} none="" />`
        : null
    }
    <details>
      <summary>Events</summary>
      <ol class="steps">
        ${data.events
          .slice(-MAX_EVENTS)
          .map(
            ({ seq, at, kind, text }) =>
              html`<li key=${seq}><span class="soft">${time(at)} · ${kind}</span> ${text}</li>`,
          )}
      </ol>
    </details>
  </section>`
}

function factsOf(id: string, task: TaskDetail): (readonly [string, string])[] {
  const tried = task.attempts.flatMap(({ agent, failure }) =>
    failure === undefined ? [] : [`${agent}: ${failure}`],
  )
  const all: readonly (readonly [string, string])[] = [
    ['Id', id],
    ['Why', task.why ?? ''],
    ['Progress', task.progress ?? ''],
    ['Chosen by', task.routed_by],
    ['Works in', task.cwd],
    ['Took', duration(task.duration_ms)],
    ['Changed', task.files_changed.join(', ')],
    ['Tried before', tried.join('; ')],
    ['Denied', task.denied.join('; ')],
    ['Warnings', task.warnings.join('; ')],
  ]
  return all.filter(([, text]) => text !== '')
}

interface OutputProps {
  readonly id: string
  readonly what: 'text' | 'diff'
  readonly isOver: boolean
  readonly none: string
}

/** A text that grows: only what is new is asked for. */
function Output({ id, what, isOver, none }: OutputProps): View {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<Failure>()
  useEffect(() => {
    let isGone = false
    let timer: ReturnType<typeof setTimeout> | undefined
    // The diff of a task is another one each time, so that it is read from the beginning.
    let offset = 0
    setText('')
    const read = async (): Promise<void> => {
      try {
        const piece = await get<Piece>(urlOf('output', { id, what, offset }))
        if (isGone) return
        offset = piece.end
        if (piece.text !== '') setText(known => `${known}${piece.text}`.slice(-MAX_TEXT))
        setProblem(undefined)
        if (piece.hasMore) return void read()
      } catch (error) {
        if (!isGone && error instanceof Failure) setProblem(error)
      }
      if (!isGone && !isOver) timer = setTimeout(() => void read(), EVERY_MS)
    }
    void read()
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [id, what, isOver])
  return html`<${Problem} of=${problem} />
    ${text === '' ? html`<p class="soft">${none}</p>` : html`<${Snippet} text=${text} label=${what === 'text' ? 'Output' : 'Changes'} />`}`
}

interface AskedProps {
  readonly task: string
  readonly of: TaskDetail['questions'][number]
  readonly again: () => void
}

/** A question of the agent, or of the gateway about it. */
function Asked({ task, of, again }: AskedProps): View {
  const [values, setValues] = useState(NO_VALUES)
  const answer = async (action: string): Promise<void> => {
    const content = action === 'accept' ? { content: readForm(of.schema, values) } : {}
    await post('reply', { task, question: of.question_id, action, ...content })
  }
  return html`<fieldset class="asked">
    <legend>It waits for an answer</legend>
    <p class="told" dir="auto">${of.message}</p>
    <${Form} schema=${of.schema} values=${values} change=${setValues} />
    <div class="row start">
      <${Act} label="Answer" kind="main" act=${() => answer('accept')} done=${again} />
      <${Act} label="Decline" act=${() => answer('decline')} done=${again} />
    </div>
  </fieldset>`
}
