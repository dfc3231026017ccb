import { html } from 'htm/preact'
import type { ComponentChildren } from 'preact'
import type { ViewNode } from './components.ts'
import { Empty } from './components.ts'
import { updateParams, usePageLocation } from './state.ts'

export interface Column<T> {
  readonly head: string
  /** Right-aligned digits. */
  readonly isNumber?: boolean
  /** Text column, which takes the remaining width. */
  readonly isText?: boolean
  /** Row member by which the column sorts. */
  readonly sortBy?: keyof T & string
  readonly cell: (row: T) => ComponentChildren
}

interface TableProps<T> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string | number
  /** Details, shown below their row. */
  readonly opened?: OpenedRow<T> | undefined
}

export interface OpenedRow<T> {
  readonly isOf: (row: T) => boolean
  readonly view: ViewNode
}

function getColumnClass<T>({ isNumber, isText }: Column<T>): string {
  return isNumber === true ? 'number' : isText === true ? 'text' : ''
}

function Table<T>({ label, columns, rows, keyOf, opened }: TableProps<T>): ViewNode {
  const { params } = usePageLocation()
  const order = params.get('sort') ?? ''
  const sorted = columns.find(({ sortBy }) => sortBy && formatOrders(label, sortBy).includes(order))?.sortBy
  return html`<div class="scroll" role="region" aria-label=${label} tabindex="0">
    <table>
      <thead>
        <tr>
          ${columns.map(column => html`<${HeadCell} of=${column} label=${label} />`)}
        </tr>
      </thead>
      <tbody>
        ${(sorted === undefined ? rows : sortRows(rows, sorted, order === formatOrders(label, sorted)[1])).flatMap(
          row => [
            html`<tr key=${keyOf(row)}>
              ${columns.map(column => html`<td class=${getColumnClass(column)} data-head=${column.head}>${column.cell(row)}</td>`)}
            </tr>`,
            ...(opened?.isOf(row) === true
              ? [
                  html`<tr class="opened" key="opened">
                    <td colspan=${columns.length}>${opened.view}</td>
                  </tr>`,
                ]
              : []),
          ],
        )}
      </tbody>
    </table>
  </div>`
}

function sortRows<T>(rows: readonly T[], key: keyof T, isDescending: boolean): readonly T[] {
  const compare = (a: unknown, b: unknown): number =>
    typeof a === 'number' && typeof b === 'number' ? a - b : String(a ?? '').localeCompare(String(b ?? ''))
  return rows.toSorted((a, b) => (isDescending ? compare(b[key], a[key]) : compare(a[key], b[key])))
}

/** Formats the orders by a column, ascending and descending, of the table with a label. */
function formatOrders(label: string, sortBy: string): string[] {
  return [`${label} ${sortBy}`, `${label} -${sortBy}`]
}

/** Heading that sorts by its column: in one direction, in the other, and not at all. */
function HeadCell<T>({ of, label }: { of: Column<T>; label: string }): ViewNode {
  const { head, sortBy, isNumber } = of
  const route = usePageLocation()
  if (sortBy === undefined) return html`<th scope="col" class=${getColumnClass(of)}>${head}</th>`
  const both = formatOrders(label, sortBy)
  const orders = isNumber === true ? both.toReversed() : both
  const order = orders.indexOf(route.params.get('sort') ?? '')
  const direction = order < 0 ? 'none' : orders[order] === both[0] ? 'ascending' : 'descending'
  return html`<th scope="col" class=${getColumnClass(of)} aria-sort=${direction}>
    <button type="button" onClick=${() => updateParams(route, { sort: orders[order + 1] })}>${head}</button>
  </th>`
}

interface ListProps<T> extends Omit<TableProps<T>, 'rows'> {
  /** Undefined while loading. */
  readonly rows: readonly T[] | undefined
  /** Text for an empty list. */
  readonly none: ComponentChildren
}

/** Table, or a placeholder. Details of a row that is not in the list are shown above it. */
export function List<T>({ rows, none, ...table }: ListProps<T>): ViewNode {
  if (rows === undefined) return html`<${Empty}>Loading …</${Empty}>`
  const { opened } = table
  return html`${opened === undefined || rows.some(opened.isOf) ? null : opened.view}
  ${rows.length === 0 ? html`<${Empty}>${none}</${Empty}>` : html`<${Table} ...${table} rows=${rows} />`}`
}

/** Button for the next page. */
export function MoreButton({ further }: { further?: () => void }): ViewNode {
  return further === undefined ? null : html`<p><button type="button" onClick=${further}>More</button></p>`
}
