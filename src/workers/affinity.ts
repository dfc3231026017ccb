import type { Inbound } from '../api/index.ts'
import { placeOfConversation, placeOfWork } from '../protocol/places.ts'

const WORKER = /^w(\d+)$/

/** Place of a worker, as ids name it. */
export function placeOf(number: number): string {
  return `w${number}`
}

/** The worker that has the conversation of this id. */
export function whoseSession(id: string | undefined): number | undefined {
  return numberOf(placeOfConversation(id))
}

/** The worker that holds what a request goes on with or asks for. */
export function whoseWork({ params }: Inbound): number | undefined {
  return numberOf(placeOfWork(params))
}

function numberOf(place: string | undefined): number | undefined {
  const [, number] = (place === undefined ? null : WORKER.exec(place)) ?? []
  return number === undefined ? undefined : Number(number)
}
