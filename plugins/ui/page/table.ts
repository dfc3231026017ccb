import { html } from 'htm/preact'
import type { ComponentChildren } from 'preact'
import type { ViewNode } from './components.ts'
import { Empty } from './components.ts'

export interface Column<T> {
  readonly head: string
  /** Right-aligned digits. */
  readonly isNumber?: boolean
  /** Text column, which takes the remaining width. */
  readonly isText?: boolean
  /** Hidden on narrow screens. */
  readonly isMinor?: boolean
  readonly cell: (row: T) => ComponentChildren
}

interface TableProps<T> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string | number
  /** True if text columns get their own line on narrow screens. */
  readonly isStacked?: boolean
}

function getColumnClass<T>({ isNumber, isText, isMinor }: Column<T>): string {
  const classes = { number: isNumber, text: isText, minor: isMinor }
  return Object.entries(classes)
    .flatMap(([name, isMeant]) => (isMeant === true ? [name] : []))
    .join(' ')
}

function Table<T>({ label, columns, rows, keyOf, isStacked }: TableProps<T>): ViewNode {
  return html`<div class="scroll" role="region" aria-label=${label} tabindex="0">
    <table class=${isStacked === true ? 'stacked' : ''}>
      <thead>
        <tr>
          ${columns.map(column => html`<th scope="col" class=${getColumnClass(column)}>${column.head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          row =>
            html`<tr key=${keyOf(row)}>
              ${columns.map(column => html`<td class=${getColumnClass(column)}>${column.cell(row)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

interface ListProps<T> extends Omit<TableProps<T>, 'rows'> {
  /** Undefined while loading. */
  readonly rows: readonly T[] | undefined
  /** Text for an empty list. */
  readonly none: ComponentChildren
}

/** Table, or a placeholder. */
export function List<T>({ rows, none, ...table }: ListProps<T>): ViewNode {
  if (rows === undefined) return html`<${Empty}>Loading …</${Empty}>`
  return rows.length === 0 ? html`<${Empty}>${none}</${Empty}>` : html`<${Table} ...${table} rows=${rows} />`
}

/** Button for the next page. */
export function MoreButton({ further }: { further?: () => void }): ViewNode {
  return further === undefined ? null : html`<p><button type="button" onClick=${further}>More</button></p>`
}
