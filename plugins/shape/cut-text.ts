import { wholeAt } from './cut-json.ts'

/** Part of the room that the beginning of a text gets; its end gets the rest. */
const HEAD = 0.7

/** The beginning and the end of a text, in so many bytes. Offsets count characters, as JavaScript does. */
export function cutText(text: string, budget: number): { head: string; tail: string; leftOut: number } {
  const head = firstBytes(text, Math.floor(budget * HEAD))
  const tail = lastBytes(text.slice(head.length), Math.ceil(budget * (1 - HEAD)))
  return { head, tail, leftOut: text.length - head.length - tail.length }
}

/** The beginning of a text that is at most so many bytes, never half a character. */
export function firstBytes(text: string, budget: number): string {
  if (text.length * 3 <= budget) return text
  const near = text.slice(0, budget + 1)
  if (text.length <= budget && Buffer.byteLength(text) <= budget) return text
  let low = 0
  let high = Math.min(near.length, budget)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (Buffer.byteLength(near.slice(0, middle)) <= budget) low = middle
    else high = middle - 1
  }
  return text.slice(0, wholeAt(text, low))
}

function lastBytes(text: string, budget: number): string {
  let begin = Math.max(0, text.length - budget)
  while (Buffer.byteLength(text.slice(begin)) > budget)
    begin += Math.max(1, Math.ceil((text.length - begin) / 8))
  const code = text.charCodeAt(begin)
  return text.slice(code >= 0xdc00 && code <= 0xdfff ? begin + 1 : begin)
}
