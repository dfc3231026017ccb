import { html } from 'htm/preact'
import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Failure } from './api.ts'
import { toFailure } from './api.ts'

export type View = VNode | readonly VNode[] | undefined | null | string

export function Page(props: { title: string; lead?: ComponentChildren; children?: ComponentChildren }): View {
  return html`<div class="head">
      <h1 tabindex="-1">${props.title}</h1>
      ${props.lead === undefined ? null : html`<div class="lead">${props.lead}</div>`}
    </div>
    ${props.children}`
}

export function Problem({ of }: { of: Failure | undefined }): View {
  if (of === undefined) return null
  return html`<p class="problem" role="alert">${of.message} ${of.hint}</p>`
}

/** Text in place of what is not there yet, or not at all. */
export function Empty({ children }: { children?: ComponentChildren }): View {
  return html`<p class="empty">${children}</p>`
}

const TONES: Readonly<Record<string, string>> = {
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

/** A state in a word, which colour alone never says. */
export function Badge({ of, tone }: { of: string; tone?: string }): View {
  return html`<span class=${`badge ${tone ?? TONES[of] ?? 'bad'}`}>${of.replaceAll('_', ' ')}</span>`
}

interface ActProps {
  readonly label: string
  /** More for those who hear the page: whose button it is. */
  readonly about?: string
  readonly kind?: 'main' | 'danger'
  readonly isOff?: boolean
  readonly act: () => Promise<unknown>
  readonly done?: () => void
}

/** A button that does something at the gateway, and says when that did not work. */
export function Act({ label, about, kind, isOff, act, done }: ActProps): View {
  const [state, setState] = useState<'idle' | 'busy' | Failure>('idle')
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
      disabled=${isOff === true}
      aria-busy=${state === 'busy'}
      aria-label=${about === undefined ? undefined : `${label} ${about}`}
      onClick=${press}
    >
      ${label}</button
    >${typeof state === 'object' ? html`<span role="alert" class="problem">${state.message} ${state.hint}</span>` : null}</span
  >`
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }): View {
  const [isDone, setDone] = useState(false)
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(() => {
      setDone(true)
      setTimeout(() => setDone(false), 2000)
    })
  }
  return html`<button type="button" onClick=${copy}>${isDone ? 'Copied' : label}</button>`
}

/** A text as it is, with a button that copies it. */
export function Snippet({ text, label }: { text: string; label: string }): View {
  return html`<div class="snippet">
    <pre tabindex="0" role="region" aria-label=${label}>${text}</pre>
    <${Copy} text=${text} label="Copy" />
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

/** A field that filters or is filled in. */
export function Field({ label, value, type = 'text', hint, options, change }: FieldProps): View {
  const heard = (event: { currentTarget: { value: string } }): void => change(event.currentTarget.value)
  return html`<label class="field"
    ><span>${label}</span> ${
      options === undefined
        ? html`<input
            type=${type}
            value=${value}
            placeholder=${hint}
            autocomplete="off"
            spellcheck="false"
            onInput=${heard}
          />`
        : html`<select value=${value} onChange=${heard}>
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

/** A field that filters a list. */
export function Search(props: SearchProps): View {
  return html`<${Field} ...${props} type="search" />`
}
export function count(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
}

export function bytes(value: number): string {
  if (value < 1024) return `${Math.round(value)} B`
  const [small, large] = [value / 1024, value / 1024 / 1024]
  if (large >= 1024) return `${(large / 1024).toFixed(1)} GiB`
  return large >= 1 ? `${large.toFixed(large < 10 ? 1 : 0)} MiB` : `${small.toFixed(small < 10 ? 1 : 0)} KiB`
}

export function duration(ms: number): string {
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

export function ago(at: number): string {
  const ms = Date.now() - at
  if (ms < 2000) return 'now'
  return ms < 60_000 ? `${Math.floor(ms / 1000)} s ago` : `${duration(ms)} ago`
}

export function time(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB')
}

/** JSON as people read it; a text that is none as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
