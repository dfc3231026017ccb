import { printable } from '../util/log.ts'

/** Text of a peer as it may stand in a log or an error: control characters escaped, cut to `limit`. */
export function visible(text: string, limit: number): string {
  return printable(text.length > limit ? `${text.slice(0, limit)}…` : text)
}
