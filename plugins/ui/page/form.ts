import { html } from 'htm/preact'
import type { Json } from '../types.ts'
import type { Field, FormValues } from './fields.ts'
import { defaultJson, listFields, getFieldText, formatValue } from './fields.ts'
import type { ViewNode } from './components.ts'

interface FormProps {
  readonly schema: Json | undefined
  readonly values: FormValues
  readonly change: (values: FormValues) => void
}

/** A field for each primitive member, and a text area for the others. */
export function Form({ schema, values, change }: FormProps): ViewNode {
  const { fields, otherNames } = listFields(schema)
  if (fields.length === 0 && otherNames?.length === 0) return html`<p class="soft">No arguments.</p>`
  return html`${fields.map(
    field =>
      html`<${FormRow}
        of=${field}
        text=${getFieldText(field, values)}
        change=${(text: string) => change({ ...values, fields: { ...values.fields, [field.name]: text } })}
        key=${field.name}
      />`,
  )}
  ${
    otherNames?.length === 0
      ? null
      : html`<label class="field wide"
          ><span>${fields.length === 0 ? 'Arguments' : 'Other arguments'} <small>JSON</small></span>
          <textarea
            class="code"
            rows="3"
            spellcheck="false"
            value=${values.json ?? defaultJson(schema, otherNames)}
            onInput=${onTextInput(json => change({ ...values, json }))}
          ></textarea>
          ${otherNames === undefined ? null : html`<small dir="auto">${otherNames.join(', ')}</small>`}
        </label>`
  }`
}

function FormRow({ of, text, change }: { of: Field; text: string; change: (text: string) => void }): ViewNode {
  const { name, title, description, isRequired, options, type } = of
  const control =
    options !== undefined
      ? html`<select onChange=${onTextInput(change)} required=${isRequired}>
          ${isRequired && text !== '' ? null : html`<option value="" selected=${text === ''}></option>`}
          ${options.map(([value, label]) => html`<option value=${formatValue(value)} selected=${formatValue(value) === text}>${label}</option>`)}
        </select>`
      : type !== 'string'
        ? html`<input
            type="number"
            step="any"
            value=${text}
            autocomplete="off"
            dir="auto"
            onInput=${onTextInput(change)}
          />`
        : html`<textarea
            rows="1"
            spellcheck="false"
            value=${text}
            dir="auto"
            onInput=${onTextInput(change)}
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

function onTextInput(change: (text: string) => void): (event: { currentTarget: { value: string } }) => void {
  return event => change(event.currentTarget.value)
}
