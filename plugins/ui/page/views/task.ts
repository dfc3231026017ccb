import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import type { Json } from '../../types.ts'
import { ApiFailure, getJson, postJson, formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { ActionButton, Badge, Detail, formatDuration, Problem, Snippet, formatTime } from '../components.ts'
import type { PageLocation } from '../state.ts'
import { updateParams, useQuery } from '../state.ts'
import { NO_VALUES, readForm } from '../fields.ts'
import { Form } from '../form.ts'

/** `GET task` answer. */
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

/** `GET output` answer. */
interface OutputChunk {
  readonly text: string
  /** Next chunk's offset. */
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
/** Only the end of a longer text is shown. */
const MAX_TEXT = 256 * 1024
const MAX_EVENTS = 100

/** Agent task: output, changes and questions. */
export function OpenedTask({ id, route }: { id: string; route: PageLocation }): ViewNode {
  const { data, problem, again } = useQuery<TaskDetail>(formatApiUrl('task', { id }), { every: EVERY_MS })
  const isOver = data === undefined || ENDED.has(data.state)
  const cancel = html`<${ActionButton}
    label="Cancel task"
    kind="danger"
    act=${() => postJson('cancel', { task: id })}
    done=${again}
  />`
  return html`<${Detail}
    label=${`Task ${id}`}
    title=${data === undefined ? 'Task' : html`${`${data.agent ?? 'No agent yet'} `}<${Badge} of=${data.state} tone=${data.is_error ? 'bad' : TASK_TONES[data.state]} />`}
    actions=${isOver ? null : cancel}
    close=${() => updateParams(route, { id: undefined })}
  >
    <${Problem} of=${problem} />
    ${data === undefined ? null : html`<${TaskFacts} id=${id} of=${data} isOver=${isOver} again=${again} />`}
  </${Detail}>`
}

interface TaskFactsProps {
  readonly id: string
  readonly of: TaskDetail
  readonly isOver: boolean
  readonly again: () => void
}

function TaskFacts({ id, of: data, isOver, again }: TaskFactsProps): ViewNode {
  return html`${data.questions.map(one => html`<${TaskQuestion} task=${id} of=${one} again=${again} key=${one.question_id} />`)}
    <dl>
      ${listFacts(id, data).map(
        ([name, text]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${text}</dd>
          </div>`,
      )}
    </dl>
    <h3>Output</h3>
    <${TaskOutput} id=${id} what="text" isOver=${isOver} none=${isOver ? 'No output.' : 'Nothing yet.'} />
    ${
      data.has_diff
        ? html`<h3>Changes</h3>
            <${TaskOutput} id=${id} what="diff" isOver=${isOver} none="" />`
        : null
    }
    <details>
      <summary>Events</summary>
      <ol class="steps">
        ${data.events
          .slice(-MAX_EVENTS)
          .map(
            ({ seq, at, kind, text }) =>
              html`<li key=${seq}><span class="soft">${formatTime(at)} · ${kind}</span> ${text}</li>`,
          )}
      </ol>
    </details>`
}

function listFacts(id: string, task: TaskDetail): (readonly [string, string])[] {
  const tried = task.attempts.flatMap(({ agent, failure }) => (failure === undefined ? [] : [`${agent}: ${failure}`]))
  const all: readonly (readonly [string, string])[] = [
    ['ID', id],
    ['Reason', task.why ?? ''],
    ['Progress', task.progress ?? ''],
    ['Chosen by', task.routed_by],
    ['Directory', task.cwd],
    ['Duration', formatDuration(task.duration_ms)],
    ['Changed files', task.files_changed.join(', ')],
    ['Previous attempts', tried.join('; ')],
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

/** Growing text, fetched incrementally. */
function TaskOutput({ id, what, isOver, none }: OutputProps): ViewNode {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<ApiFailure>()
  useEffect(() => {
    let isGone = false
    let timer: ReturnType<typeof setTimeout> | undefined
    // A diff changes completely, so read it from the start.
    let offset = 0
    setText('')
    const readNext = async (): Promise<void> => {
      try {
        const piece = await getJson<OutputChunk>(formatApiUrl('output', { id, what, offset }))
        if (isGone) return
        offset = piece.end
        if (piece.text !== '') setText(previous => `${previous}${piece.text}`.slice(-MAX_TEXT))
        setProblem(undefined)
        if (piece.hasMore) return void readNext()
      } catch (error) {
        if (!isGone && error instanceof ApiFailure) setProblem(error)
      }
      if (!isGone && !isOver) timer = setTimeout(() => void readNext(), EVERY_MS)
    }
    void readNext()
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [id, what, isOver])
  return html`<${Problem} of=${problem} />
    ${text === '' ? html`<p class="soft">${none}</p>` : html`<${Snippet} text=${text} label=${what === 'text' ? 'Output' : 'Changes'} />`}`
}

interface TaskQuestionProps {
  readonly task: string
  readonly of: TaskDetail['questions'][number]
  readonly again: () => void
}

/** Question from the agent, or from the gateway about it. */
function TaskQuestion({ task, of, again }: TaskQuestionProps): ViewNode {
  const [values, setValues] = useState(NO_VALUES)
  const sendAnswer = async (action: string): Promise<void> => {
    const content = action === 'accept' ? { content: readForm(of.schema, values) } : {}
    await postJson('reply', { task, question: of.question_id, action, ...content })
  }
  return html`<fieldset class="asked">
    <legend>Input required</legend>
    <p class="told" dir="auto">${of.message}</p>
    <${Form} schema=${of.schema} values=${values} change=${setValues} />
    <div class="row start">
      <${ActionButton} label="Answer" kind="main" act=${() => sendAnswer('accept')} done=${again} />
      <${ActionButton} label="Decline" act=${() => sendAnswer('decline')} done=${again} />
    </div>
  </fieldset>`
}
