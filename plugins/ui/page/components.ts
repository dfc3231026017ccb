import { html } from 'htm/preact'
import type { ComponentChildren, VNode } from 'preact'
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ApiFailure } from './api.ts'
import { toFailure } from './api.ts'
import { AwaySince } from './state.ts'

export type ViewNode = VNode | readonly VNode[] | undefined | null | string

export function Page(props: { title: string; lead?: ComponentChildren; children?: ComponentChildren }): ViewNode {
  return html`<div class="head">
      <h1 tabindex="-1">${props.title}</h1>
      ${props.lead === undefined ? null : html`<div class="lead">${props.lead}</div>`}
    </div>
    ${props.children}`
}

export function Problem({ of }: { of: ApiFailure | undefined }): ViewNode {
  const isAway = useContext(AwaySince) !== undefined
  // The banner shows it.
  if (of === undefined || (isAway && of.status === 0)) return null
  return html`<p class="problem" role="alert">${of.message} ${of.hint}</p>`
}

interface DetailProps {
  readonly label: string
  readonly title: ComponentChildren
  readonly actions?: ComponentChildren
  readonly close: () => void
  readonly children?: ComponentChildren
}

/** Row details. They take the focus, and return it to the row when they close. */
export function Detail({ label, title, actions, close, children }: DetailProps): ViewNode {
  const section = useRef<HTMLElement>(null)
  useLayoutEffect(() => section.current?.focus(), [])
  const leave = (): void => {
    const row = section.current?.closest('tr')?.previousElementSibling
    close()
    const target = row?.querySelector('a') ?? document.querySelector('h1')
    target?.focus()
  }
  return html`<section class="detail" aria-label=${label} tabindex="-1" ref=${section}>
    <div class="row">
      <h2>${title}</h2>
      <span class="row">${actions}<button type="button" class="close" onClick=${leave}>Close</button></span>
    </div>
    ${children}
  </section>`
}

/** Placeholder for missing content. */
export function Empty({ children }: { children?: ComponentChildren }): ViewNode {
  return html`<p class="empty">${children}</p>`
}

const BADGE_TONES: Readonly<Record<string, string>> = {
  ready: 'good',
  ok: 'good',
  fresh: 'good',
  idle: 'quiet',
  stopped: 'quiet',
  starting: 'busy',
  task: 'busy',
  input_required: 'busy',
  needs_auth: 'warn',
  degraded: 'warn',
  stale: 'quiet',
  cancelled: 'quiet',
  refused: 'warn',
}

/** State as a word, not only as a color. */
export function Badge({ of, tone }: { of: string; tone?: string }): ViewNode {
  return html`<span class=${`badge ${tone ?? BADGE_TONES[of] ?? 'bad'}`}>${of.replaceAll('_', ' ')}</span>`
}

interface ActionButtonProps {
  readonly label: string
  /** Object of the action, for screen readers. */
  readonly about?: string
  readonly kind?: 'main' | 'danger'
  readonly isOff?: boolean
  readonly act: () => Promise<unknown>
  readonly done?: () => void
}

/** Button that runs an action and shows its error. */
export function ActionButton({ label, about, kind, isOff, act, done }: ActionButtonProps): ViewNode {
  const isAway = useContext(AwaySince) !== undefined
  const [state, setState] = useState<'idle' | 'busy' | ApiFailure>('idle')
  const press = (): void => {
    if (state === 'busy') return
    setState('busy')
    act().then(
      () => {
        setState('idle')
        done?.()
      },
      (error: unknown) => setState(toFailure(error)),
    )
  }
  return html`<span class="act"
    ><button
      type="button"
      class=${kind ?? ''}
      disabled=${isOff === true || isAway}
      aria-busy=${state === 'busy'}
      aria-label=${about === undefined ? undefined : `${label} ${about}`}
      onClick=${press}
    >
      ${label}</button
    >${typeof state === 'object' ? html`<span role="alert" class="problem">${state.message} ${state.hint}</span>` : null}</span
  >`
}

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }): ViewNode {
  const [isDone, setDone] = useState(false)
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(() => {
      setDone(true)
      setTimeout(() => setDone(false), 2000)
    })
  }
  return html`<button type="button" onClick=${copy}>${isDone ? 'Copied' : label}</button>`
}

/** Preformatted text with a copy button. */
export function Snippet({ text, label }: { text: string; label: string }): ViewNode {
  return html`<div class="snippet">
    <pre tabindex="0" role="region" aria-label=${label}>${text}</pre>
    <${CopyButton} text=${text} label="Copy" />
  </div>`
}

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly type?: string
  readonly hint?: string
  readonly options?: readonly (readonly [value: string, text: string])[]
  readonly change: (value: string) => void
}

/** Input for a filter or form. */
export function Field({ label, value, type = 'text', hint, options, change }: FieldProps): ViewNode {
  const handleInput = (event: { currentTarget: { value: string } }): void => change(event.currentTarget.value)
  return html`<label class="field"
    ><span>${label}</span> ${
      options === undefined
        ? html`<input
            type=${type}
            value=${value}
            placeholder=${hint}
            autocomplete="off"
            spellcheck="false"
            onInput=${handleInput}
          />`
        : html`<select value=${value} onChange=${handleInput}>
            ${options.map(([id, text]) => html`<option value=${id} selected=${id === value}>${text}</option>`)}
          </select>`
    }</label
  >`
}

interface SearchProps {
  readonly label: string
  readonly value: string
  readonly hint?: string
  readonly change: (value: string) => void
}

/** Search input for a list. */
export function Search(props: SearchProps): ViewNode {
  return html`<${Field} ...${props} type="search" />`
}

/** Quotes a shell word, if it needs quotes. */
export function quoteWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

export function formatCount(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
}

export function formatBytes(value: number): string {
  if (value < 1024) return `${Math.round(value)} B`
  const [small, large] = [value / 1024, value / 1024 / 1024]
  if (large >= 1024) return `${(large / 1024).toFixed(1)} GiB`
  return large >= 1 ? `${large.toFixed(large < 10 ? 1 : 0)} MiB` : `${small.toFixed(small < 10 ? 1 : 0)} KiB`
}

export function formatDuration(ms: number): string {
  if (ms === 0) return '0 ms'
  if (ms < 1) return `${Math.round(ms * 1000)} µs`
  if (ms < 10) return `${ms.toFixed(1)} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = ms / 1000
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`
}

export function formatAge(at: number): string {
  const ms = Date.now() - at
  if (ms < 2000) return 'now'
  return ms < 60_000 ? `${Math.floor(ms / 1000)} s ago` : `${formatDuration(ms)} ago`
}

export function formatTime(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB')
}

/** Formats JSON; returns other text unchanged. */
export function formatJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
