import { html } from 'htm/preact'
import type { Json } from '../../types.ts'
import type { View } from '../parts.ts'
import { type Field, fieldOf, type Kind, textOf } from './fields.ts'
import { chosenIn, filledIn, RAW, shownIn, type Values } from './filled-in.ts'

interface FormProps {
  readonly schema: Json | undefined
  readonly values: Values
  readonly change: (values: Values) => void
  /** True where all may be written as JSON, too. */
  readonly hasRaw?: boolean
}

/** Fields that a JSON Schema asks for. What has no simple form is written as JSON. */
export function Form({ schema, values, change, hasRaw }: FormProps): View {
  const field = fieldOf(schema)
  if (field.kind.is === 'group' && field.kind.fields.length === 0)
    return html`<p class="soft">It takes no arguments.</p>`
  const raw = values[RAW]
  const set: Set = (path, text) => change({ ...values, [path]: text })
  const toggle = (): void => {
    const { [RAW]: _, ...others } = values
    change(raw === undefined ? { ...values, [RAW]: written(filledIn(schema, values)) } : others)
  }
  return html`${hasRaw === true && field.kind.is === 'group' ? html`<label class="check"><input type="checkbox" checked=${raw !== undefined} onChange=${toggle} /> As JSON</label>` : null}
  ${raw === undefined ? html`<${Fields} of=${field} values=${values} set=${set} />` : html`<${Raw} value=${raw} set=${(text: string) => set(RAW, text)} />`}`
}

type Set = (path: string, text: string) => void

interface Props {
  readonly of: Field
  readonly values: Values
  readonly set: Set
}

function written(value: Json | string): string {
  return JSON.stringify(typeof value === 'string' ? {} : value, undefined, 2)
}

function Raw({ value, set }: { value: string; set: (text: string) => void }): View {
  return html`<label class="field wide"
    ><span>Arguments <small>JSON</small></span>
    <textarea rows="8" spellcheck="false" value=${value} onInput=${heardBy(set)}></textarea>
  </label>`
}

/** The fields of the whole, which needs no frame. */
function Fields({ of, ...props }: Props): View {
  if (of.kind.is !== 'group' || of.path !== '') return html`<${Row} of=${of} ...${props} />`
  return html`${of.kind.fields.map(one => html`<${Row} of=${one} ...${props} key=${one.path} />`)}`
}

function Row({ of, ...props }: Props): View {
  if (of.kind.is === 'group' || of.kind.is === 'variants') return html`<${Framed} of=${of} ...${props} />`
  if (of.kind.is === 'choice' && of.kind.isMany) return html`<${Many} of=${of} ...${props} />`
  return html`<label class="field wide"
    ><span><${Title} of=${of} /></span>
    <${Input} of=${of} value=${shownIn(of, props.values)} set=${(text: string) => props.set(of.path, text)} />
    <${Description} of=${of}
  /></label>`
}

function Title({ of }: { of: Field }): View {
  return html`<bdi>${of.title}</bdi>${of.isRequired ? ' *' : ''} ${' '}
    <small
      >${of.name === of.title || of.name === '' ? null : html`<bdi>${of.name}</bdi> · `}${of.says}</small
    >`
}

function Description({ of: { description } }: { of: Field }): View {
  return description === '' ? null : html`<small dir="auto">${description}</small>`
}

/** Members of an object, or one of several forms. */
function Framed({ of, values, set }: Props): View {
  const { kind, path } = of
  const chosen = chosenIn(of, values)
  return html`<fieldset>
    <legend><${Title} of=${of} /></legend>
    <${Description} of=${of} />
    ${
      kind.is === 'variants'
        ? html`<label class="field wide"
            ><span>Which</span>
            <select onChange=${heardBy(text => set(path, text))}>
              ${kind.variants.map((one, at) => html`<option value=${String(at)} selected=${one === chosen}>${one.title}</option>`)}
            </select></label
          >`
        : null
    }
    ${chosen !== undefined && chosen.kind.is !== 'group' ? html`<${Row} of=${chosen} values=${values} set=${set} key=${chosen.path} />` : null}
    ${groupIn(chosen ?? of).map(one => html`<${Row} of=${one} values=${values} set=${set} key=${one.path} />`)}
  </fieldset>`
}

function groupIn({ kind }: Field): readonly Field[] {
  return kind.is === 'group' ? kind.fields : []
}

/** Several of a few values, kept as JSON. */
function Many({ of, values, set }: Props): View {
  const { kind, path } = of
  const chosen = listIn(shownIn(of, values))
  const options = kind.is === 'choice' ? kind.options : []
  const toggle = (text: string): void => {
    const isIn = chosen.includes(text)
    const next = options.filter(({ value }) =>
      textOf(value) === text ? !isIn : chosen.includes(textOf(value)),
    )
    set(path, next.length === 0 ? '' : JSON.stringify(next.map(({ value }) => value)))
  }
  return html`<fieldset>
    <legend><${Title} of=${of} /></legend>
    <${Description} of=${of} />
    ${options.map(({ value, title }) => {
      const text = textOf(value)
      return html`<label class="check" key=${text}
        ><input type="checkbox" checked=${chosen.includes(text)} onChange=${() => toggle(text)} />
        <bdi>${title}</bdi></label
      >`
    })}
  </fieldset>`
}

function listIn(text: string): string[] {
  if (text === '') return []
  try {
    const list = JSON.parse(text) as unknown
    return Array.isArray(list) ? list.map(textOf) : []
  } catch {
    return []
  }
}

function Input({ of, value, set }: { of: Field; value: string; set: (text: string) => void }): View {
  const { kind, isRequired } = of
  const heard = heardBy(set)
  if (kind.is === 'choice')
    return html`<select onChange=${heard} required=${isRequired}>
      ${isRequired && value !== '' ? null : html`<option value="" selected=${value === ''}></option>`}
      ${kind.options.map(option => html`<option value=${textOf(option.value)} selected=${textOf(option.value) === value}>${option.title}</option>`)}
    </select>`
  const type = typeOf(kind)
  if (type !== undefined)
    return html`<input
      type=${type}
      ...${limitsOf(kind)}
      value=${value}
      required=${isRequired && kind.is === 'number'}
      autocomplete="off"
      dir="auto"
      onInput=${heard}
    />`
  return html`<textarea
    rows=${kind.is === 'text' ? 1 : 3}
    class=${kind.is === 'json' ? 'code' : ''}
    spellcheck="false"
    placeholder=${kind.is === 'json' ? 'JSON' : ''}
    ...${limitsOf(kind)}
    value=${value}
    dir="auto"
    onInput=${heard}
  ></textarea>`
}

/** The type of the control; none for one of many lines. */
function typeOf(kind: Kind): string | undefined {
  return kind.is === 'number' ? 'number' : kind.is === 'text' ? kind.input : undefined
}

function limitsOf(kind: Kind): Readonly<Record<string, string | number>> {
  if (kind.is === 'number') return { step: kind.isWhole ? 1 : 'any', ...kind.limits }
  return kind.is === 'text' ? kind.limits : {}
}

function heardBy(set: (text: string) => void): (event: { currentTarget: { value: string } }) => void {
  return event => set(event.currentTarget.value)
}
