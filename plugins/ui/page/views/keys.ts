import { html } from 'htm/preact'
import { useEffect, useRef } from 'preact/hooks'
import type { ViewNode } from '../components.ts'

const KEYS = [
  ['/', 'Go to the filter'],
  ['Tab, Enter', 'Go to a row, open it'],
  ['Esc', 'Close the details'],
  ['?', 'Show these keys'],
] as const

const ACTIONS: Readonly<Record<string, string>> = {
  '/': '.filters :is(input, select)',
  '?': '#keys',
  Escape: '.detail .close',
}

/** Returns a field's text; undefined for other elements. */
function getTypedText(target: EventTarget | null): string | undefined {
  const isField = target instanceof HTMLElement && target.matches('textarea, input:not([type=checkbox])')
  return isField ? (target as HTMLInputElement).value : undefined
}

/** Focuses the filter, or presses a key's button. Escape keeps typed text. */
function handleKey(event: KeyboardEvent): void {
  const { key, ctrlKey, altKey, metaKey } = event
  const control = document.querySelector<HTMLElement>(ACTIONS[key] ?? 'none')
  if (control === null || ctrlKey || altKey || metaKey || document.querySelector('dialog[open]') !== null) return
  const text = getTypedText(event.target)
  if (key === 'Escape' ? text : text !== undefined) return
  event.preventDefault()
  if (control instanceof HTMLButtonElement) control.click()
  else control.focus()
}

/** Handles the keys on all pages; the button lists them. */
export function Keys(_: object): ViewNode {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    addEventListener('keydown', handleKey)
    return () => removeEventListener('keydown', handleKey)
  }, [])
  return html`<button type="button" id="keys" onClick=${() => dialog.current?.showModal()}>Keys</button>
    <dialog ref=${dialog} aria-label="Keys">
      <dl>
        ${KEYS.map(
          ([key, text]) =>
            html`<div>
              <dt><kbd>${key}</kbd></dt>
              <dd>${text}</dd>
            </div>`,
        )}
      </dl>
      <button type="button" onClick=${() => dialog.current?.close()}>Close</button>
    </dialog>`
}
