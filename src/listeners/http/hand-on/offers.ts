import type { Whereabouts } from '../../../api/index.ts'

/** Most processes that one request is offered to, as owners die and are replaced. */
export const MOST_OFFERS = 3

/** Error of a request whose process is known to have ended. */
export const HAS_ENDED = new Error('the other process has ended')

/** Codes of an address where nobody listens. */
const REFUSED: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'ENOENT'])

/** True for the error of a process that has ended: where nothing was sent, another one may have what is sought. */
export function isOfEnded(error: Error): boolean {
  return error === HAS_ENDED || REFUSED.has((error as NodeJS.ErrnoException).code)
}

/** Looks for another process; what a look throws is a rejection. */
export function orRejected(find: () => Whereabouts | Promise<Whereabouts>): Promise<Whereabouts> {
  return new Promise(resolve => resolve(find()))
}
