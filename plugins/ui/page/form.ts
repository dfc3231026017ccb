import { html } from 'htm/preact'
import type { Json } from '../types.ts'
import type { Field, Values } from './fields.ts'
import { defaultJson, fieldsOf, textOf, written } from './fields.ts'
import type { View } from './parts.ts'

interface FormProps {
  readonly schema: Json | undefined
  readonly values: Values
  readonly change: (values: Values) => void
}

/** A field for each plain value that a schema asks for, and one text area for the others. */
export function Form({ schema, values, change }: FormProps): View {
  const { fields, others } = fieldsOf(schema)
  if (fields.length === 0 && others?.length === 0) return html`<p class="soft">It takes no arguments.</p>`
  return html`${fields.map(
    field =>
      html`<${Row}
        of=${field}
        text=${textOf(field, values)}
        change=${(text: string) => change({ ...values, fields: { ...values.fields, [field.name]: text } })}
        key=${field.name}
      />`,
  )}
  ${
    others?.length === 0
      ? null
      : html`<label class="field wide"
          ><span>${fields.length === 0 ? 'Arguments' : 'Other arguments'} <small>JSON</small></span>
          <textarea
            class="code"
            rows="3"
            spellcheck="false"
            value=${values.json ?? defaultJson(schema, others)}
            onInput=${onText(json => change({ ...values, json }))}
          ></textarea>
          ${others === undefined ? null : html`<small dir="auto">${others.join(', ')}</small>`}
        </label>`
  }`
}

function Row({ of, text, change }: { of: Field; text: string; change: (text: string) => void }): View {
  const { name, title, description, isRequired, options, type, attributes } = of
  const control =
    options !== undefined
      ? html`<select onChange=${onText(change)} required=${isRequired}>
          ${isRequired && text !== '' ? null : html`<option value="" selected=${text === ''}></option>`}
          ${options.map(([value, label]) => html`<option value=${written(value)} selected=${written(value) === text}>${label}</option>`)}
        </select>`
      : 'type' in attributes
        ? html`<input
            ...${attributes}
            value=${text}
            autocomplete="off"
            dir="auto"
            onInput=${onText(change)}
          />`
        : html`<textarea
            ...${attributes}
            rows="1"
            spellcheck="false"
            value=${text}
            dir="auto"
            onInput=${onText(change)}
          ></textarea>`
  return html`<label class="field wide"
    ><span
      ><bdi>${title}</bdi>${isRequired ? ' *' : ''} ${' '}<small
        >${name === title ? '' : html`<bdi>${name}</bdi> · `}${type}</small
      ></span
    >
    ${control} ${description === '' ? null : html`<small dir="auto">${description}</small>`}</label
  >`
}

function onText(change: (text: string) => void): (event: { currentTarget: { value: string } }) => void {
  return event => change(event.currentTarget.value)
}
