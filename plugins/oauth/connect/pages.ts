import { createHash } from 'node:crypto'
import type { HttpReply, HttpRequest } from '../../../src/plugin.ts'
import { sanitizeText } from '../../../src/plugin.ts'

const MAX_FORM = 4096

/** Parses a submitted form; undefined for anything else. */
export async function parseForm(request: HttpRequest): Promise<URLSearchParams | undefined> {
  const [type = ''] = request.header('content-type')
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) return undefined
  const body = await request.body()
  return body.length > MAX_FORM ? undefined : new URLSearchParams(body.toString('utf8'))
}

const STYLE = `
:root { color-scheme: light dark }
body { margin: 0; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 34rem; margin: 6vh auto 0; padding: 1.5rem; border: 1px solid GrayText; border-radius: .75rem }
h1 { margin: 0 0 .75rem; font-size: 1.35rem; overflow-wrap: anywhere }
dl div { display: grid; grid-template-columns: 8rem 1fr; gap: 1rem; padding: .5rem 0; border-top: 1px solid GrayText }
dd { margin: 0; overflow-wrap: anywhere }
ul { margin: 0; padding: 0; list-style: none }
input[type=text] { display: block; padding: .5rem; margin: .25rem 0 1.25rem; font: 1.15rem ui-monospace, monospace }
.acts { display: flex; flex-wrap: wrap; gap: .75rem }
button { padding: .6rem 1.2rem; font: inherit; font-weight: 600 }
@media (max-width: 30rem) { dl div { grid-template-columns: 1fr } button { width: 100% } }
`

/** No scripts, frames or external content; the page's URL is not sent as referrer. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; ` +
    `base-uri 'none'; frame-ancestors 'none'`,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // With "no-referrer" browsers would send forms with "Origin: null".
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
}

/** Details that the user needs for consent. */
interface ConsentRequest {
  readonly upstream: string
  readonly host: string
  readonly scopes: readonly string[]
  /** Authorization server host. */
  readonly server: string
  /** The caller. */
  readonly subject: string
  readonly issuer: string
  readonly client: string
  /** Form target and CSRF token. */
  readonly action: string
  readonly token: string
  /** Token for the displayed access. */
  readonly access: string
  /** True if the client's code must be entered. */
  readonly wantsCode: boolean
  /** Previous attempt's error message. */
  readonly problem?: string | undefined
}

export function renderConsentPage(consent: ConsentRequest): HttpReply {
  const scopes =
    consent.scopes.length === 0
      ? 'default access'
      : `<ul>${consent.scopes.map(scope => `<li><code>${escapeHtml(scope)}</code></li>`).join('')}</ul>`
  const code = consent.wantsCode
    ? `<label for="code">Code shown by your client</label>
<input type="text" id="code" name="code" required autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="16">`
    : ''
  const problem =
    consent.problem === undefined ? '' : `<p role="alert"><strong>${escapeHtml(consent.problem)}</strong></p>`
  return renderPage(
    200,
    `Allow the gateway to use “${escapeHtml(consent.upstream)}” on your behalf?`,
    `${problem}<p>A client of this gateway wants to call <strong>${escapeHtml(consent.upstream)}</strong> on your behalf. Continue only if you just requested this.</p>
<dl>
<div><dt>Requested by</dt><dd>${escapeHtml(consent.subject)}<br>${escapeHtml(consent.issuer)}</dd></div>
<div><dt>Client</dt><dd>${escapeHtml(consent.client)}</dd></div>
<div><dt>Server</dt><dd>${escapeHtml(consent.host)}</dd></div>
<div><dt>Log in at</dt><dd>${escapeHtml(consent.server)}</dd></div>
<div><dt>Access</dt><dd>${scopes}</dd></div>
</dl>
<form method="post" action="${escapeHtml(consent.action)}">
<input type="hidden" name="token" value="${escapeHtml(consent.token)}">
<input type="hidden" name="access" value="${escapeHtml(consent.access)}">
${code}<div class="acts"><button class="main" name="answer" value="allow">Continue to ${escapeHtml(consent.server)}</button>
<button name="answer" value="deny" formnovalidate>Deny</button></div>
</form>
<p class="note">The gateway stores this login and uses it only for you. To log out, run <code>gateway logout ${escapeHtml(consent.upstream)}</code>.</p>`,
  )
}

/** Renders a message without request data. */
export function renderMessage(status: number, title: string, text: string): HttpReply {
  return renderPage(status, escapeHtml(title), `<p>${escapeHtml(text)}</p>`)
}

export function renderUnknownLink(): HttpReply {
  return renderMessage(404, 'Unknown link', 'Links expire after ten minutes. Call the tool again to get a new one.')
}

export function renderAlreadyDone(): HttpReply {
  return renderMessage(200, 'You are logged in', 'You can close this page and return to your client.')
}

export function renderUnknownLogin(): HttpReply {
  return renderMessage(
    400,
    'Unknown login',
    'It has expired or was started in another browser. Open the link in your client again.',
  )
}

export function renderForbidden(): HttpReply {
  return renderMessage(403, 'Invalid request', 'Open the link in your client again, in the same browser.')
}

export function redirect(location: string): HttpReply {
  return { status: 303, headers: { ...HEADERS, location }, body: '' }
}

export function addCookie(reply: HttpReply, cookie: string): HttpReply {
  return { ...reply, headers: { ...reply.headers, 'set-cookie': cookie } }
}

function renderPage(status: number, title: string, body: string): HttpReply {
  const text = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${STYLE}</style></head>
<body><main><h1>${title}</h1>
${body}
</main></body>
</html>
`
  return { status, headers: HEADERS, body: text }
}

const MAX_LENGTH = 300

function escapeHtml(text: string): string {
  return sanitizeText(text)
    .slice(0, MAX_LENGTH)
    .replaceAll(/[&<>"']/g, one => `&#${one.charCodeAt(0)};`)
}
