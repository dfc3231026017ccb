import type { IncomingMessage } from 'node:http'
import type { Choices, Gate, Principal, Refusal } from '../../api/index.ts'

/** Facts of a request that are known once its caller was let in. */
interface Chosen {
  readonly caller: Principal
  readonly profile: string | undefined
  choices: Choices | undefined
}

/** Notes what a caller chooses by the query of its URL; returns the refusal of what it may not choose. */
export function takeChoices(
  { name, gate }: { readonly name: string; readonly gate: Gate },
  { url = '' }: IncomingMessage,
  headers: Chosen,
): Refusal | undefined {
  const query = url.indexOf('?')
  if (query < 0) return undefined
  const { caller: principal, profile } = headers
  const found = gate.choices(url.slice(query + 1), { listener: name, principal, profile })
  if ('status' in found) return found
  headers.choices = found.chosen
  return undefined
}

/** True where both choose the same; to choose nothing is one choice, too. */
export function isSameChoice(one: Choices = {}, other: Choices = {}): boolean {
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every(name => Object.hasOwn(other, name) && one[name] === other[name])
  )
}
