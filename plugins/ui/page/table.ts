import { html } from 'htm/preact'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { View } from './parts.ts'
import { count, Empty } from './parts.ts'

export interface Column<T> {
  readonly head: string
  /** Right-aligned digits. */
  readonly isNumber?: boolean
  /** Sentences, which get the room that is left. */
  readonly isText?: boolean
  /** Left out where the screen is narrow. */
  readonly isMinor?: boolean
  readonly cell: (row: T) => ComponentChildren
}

interface TableProps<T> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string | number
  /** True where sentences get a line of their own on narrow screens. */
  readonly isStacked?: boolean
}

/** Rows that are drawn at first, and with each step towards the end. */
const FIRST_ROWS = 40
const MORE_ROWS = 60

function classOf<T>({ isNumber, isText, isMinor }: Column<T>): string {
  const classes = { number: isNumber, text: isText, minor: isMinor }
  return Object.entries(classes)
    .flatMap(([name, isMeant]) => (isMeant === true ? [name] : []))
    .join(' ')
}

/** Rows of a list. Those that nobody has come near are not drawn yet. */
export function Table<T>({ label, columns, rows, keyOf, isStacked }: TableProps<T>): View {
  const [most, setMost] = useState(FIRST_ROWS)
  const more = (): void => setMost(most + MORE_ROWS)
  return html`<div class="scroll" role="region" aria-label=${label} tabindex="0">
      <table class=${isStacked === true ? 'stacked' : ''}>
        <thead>
          <tr>
            ${columns.map(column => html`<th scope="col" class=${classOf(column)}>${column.head}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.slice(0, most).map(
            row =>
              html`<tr key=${keyOf(row)}>
                ${columns.map(column => html`<td class=${classOf(column)}>${column.cell(row)}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${rows.length > most ? html`<${Rest} count=${rows.length - most} more=${more} />` : null}`
}

/** Stands for the rows that are not drawn: they are as soon as it comes near, or by its button. */
function Rest({ count: left, more }: { count: number; more: () => void }): View {
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    const watcher = new IntersectionObserver(
      ([seen]) => {
        if (seen?.isIntersecting === true) more()
      },
      { rootMargin: '50%' },
    )
    if (button.current !== null) watcher.observe(button.current)
    return () => watcher.disconnect()
  }, [left])
  return html`<p><button type="button" ref=${button} onClick=${more}>${count(left)} more</button></p>`
}

interface ListProps<T> extends Omit<TableProps<T>, 'rows'> {
  /** Undefined until they are known. */
  readonly rows: readonly T[] | undefined
  /** Text where there are none. */
  readonly none: ComponentChildren
}

/** Rows, or why there are none. */
export function List<T>({ rows, none, ...table }: ListProps<T>): View {
  if (rows === undefined) return html`<${Empty}>Looking …</${Empty}>`
  return rows.length === 0 ? html`<${Empty}>${none}</${Empty}>` : html`<${Table} ...${table} rows=${rows} />`
}

/** A button for the next page of a list. */
export function More({ further }: { further?: () => void }): View {
  return further === undefined ? null : html`<p><button type="button" onClick=${further}>More</button></p>`
}
