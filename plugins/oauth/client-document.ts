import { type Config, type HttpReply, type PluginHooks, STRANGER } from '../../src/plugin.ts'
import { clientDocument } from './flow/client-identity.ts'

/** Path of the gateway's own client metadata document, below its public URL. */
const DOCUMENT = '/oauth/client.json'
/** Path where a browser comes back to, below the same. */
const CALLBACK = '/oauth/callback'
/** Time for which an authorization server may keep it. */
const MAX_AGE_S = 3600

/** Whoever asks for it: it is for everybody. */

/** URL of the document, which is the gateway's client id; undefined where it has no public https URL. */
export function documentUrl({ listeners }: Config): string | undefined {
  for (const spec of Object.values(listeners)) {
    const base = spec.type === 'http' ? spec.publicUrl?.replace(/\/+$/, '') : undefined
    if (base?.startsWith('https://') === true) return base + DOCUMENT
  }
  return undefined
}

/** Serves the document at the gateway's public URL, to everybody. */
export function serveDocument({ authenticate, http }: PluginHooks, url: string, name: string): void {
  const redirect = url.slice(0, -DOCUMENT.length) + CALLBACK
  const body = JSON.stringify(clientDocument(url, name, [redirect]))
  const headers = { 'content-type': 'application/json', 'cache-control': `public, max-age=${MAX_AGE_S}` }
  authenticate.tap({ stage: 'trace' }, ({ path }) => (path === DOCUMENT ? STRANGER : undefined))
  http
    .for(DOCUMENT)
    .tap(({ method }): HttpReply | undefined =>
      method === 'GET' ? { status: 200, headers, body } : undefined,
    )
}
