import { randomUUID } from 'node:crypto'
import type { Around, Json } from './peer.ts'

/** All that a transport of either SDK offers to those who listen in. */
interface Tapped {
  onmessage?: unknown
}

/**
 * Progress as it comes off the wire. The SDKs' clients hand a notification on a turn later and an answer at once, so
 * that they drop the progress which they read in one piece with the answer.
 */
export class ProgressTap {
  readonly #heard = new Map<string, (progress: Json) => void>()

  /** Listens in on a transport that no client is connected to yet. */
  constructor(transport: Tapped) {
    transport.onmessage = ({ method, params }: { method?: string; params?: Json }) => {
      if (method === 'notifications/progress') this.#heard.get(String(params?.['progressToken']))?.(params ?? {})
    }
  }

  /** The parameters under which a request's progress is heard. */
  around(params: Json, { onProgress }: Around): Json {
    if (onProgress === undefined) return params
    // A token of our own keeps out the progress of others, as some servers tell all of their clients.
    const progressToken = `tap-${randomUUID()}`
    this.#heard.set(progressToken, onProgress)
    return { ...params, _meta: { ...(params['_meta'] as Json | undefined), progressToken } }
  }
}
