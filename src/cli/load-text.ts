import type { Load } from '../api/gateway.ts'
import { amountText } from '../util/plain-text.ts'
import type { Output } from './output/terminal.ts'

/** Load of a gateway, on one line: `heap 12 % · memory 3 % · loop 2 ms late · 0 B held`. */
export function loadText(
  { held, heap, memory, lagMs, shedding, refused = 0 }: Load,
  { paint }: Output,
): string {
  const parts = [
    heap === undefined ? undefined : `heap ${percent(heap)}`,
    memory === undefined ? undefined : `memory ${percent(memory)}`,
    lagMs === undefined ? undefined : `loop ${lagMs} ms late`,
    `${amountText(held)} held`,
    refused === 0 ? undefined : `${refused} refused`,
  ].filter(part => part !== undefined)
  const text = paint('dim', parts.join(' · '))
  if (shedding === 'refuse') return `${text} · ${paint('red', 'new requests are refused')}`
  if (shedding === 'close') return `${text} · ${paint('yellow', 'connections end with their answer')}`
  return text
}

function percent(part: number): string {
  return `${Math.round(100 * part)} %`
}
