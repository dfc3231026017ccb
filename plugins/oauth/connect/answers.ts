import { randomUUID } from 'node:crypto'
import type { Answer, Call, ClientSide, Dispatch, Principal } from '../../../src/plugin.ts'
import { answer, GatewayError, isObject, toOneLine, refuse, RPC, toolError } from '../../../src/plugin.ts'
import { accountOf, nameOf } from '../callers.ts'
import type { Link, Links, Proof } from './links.ts'
import type { Visits } from './visits.ts'

/** Parts of the gateway that sending a caller to its page takes. */
export interface AnswersHost {
  readonly links: Links
  readonly visits: Pick<Visits, 'sent' | 'isSent'>
  /** Resolves after so many milliseconds. */
  rest(ms: number): Promise<void>
  /** URL of the gateway as clients of a listener know it; undefined where they cannot open a page of it. */
  baseOf(listener: string): string | undefined
  /** True where a caller has logged in to an upstream since it was told to, at a page or by a command. */
  hasLoggedIn(account: string, upstream: string): boolean
  /** Tells by what a caller can show in a browser who it is; undefined where it cannot. */
  proofOf(principal: Principal): Proof | undefined
}

/** Methods by which a caller wants something; lists are fetched for other reasons too, and come without the server. */
const SENDS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])
/** Time that a call waits for the login of a caller who says that he has gone to the page. */
const PATIENCE_MS = 5000
/** Longer than a connection that needs a login rests before it is tried again. */
const AGAIN_MS = 1200
/** The first version whose clients open pages. */
const URLS_SINCE = '2025-11-25'
const NEEDED = 'GW_LOGIN_NEEDED'

/** Calls an upstream in the name of its caller, and sends the caller to a page where it must log in first. */
export function withLogins(upstream: string, next: Dispatch, host: AnswersHost): Dispatch {
  return async call => {
    if (!SENDS.has(call.method)) return next(call)
    const account = accountOf(call.exchange.principal)
    if (account !== undefined && (await cameBack(call, account, host)) === 'refused')
      return failed(call, `The login to "${upstream}" was declined, so the call was not made.`)
    try {
      return await calledAfterLogin(next, call, account, host)
    } catch (error) {
      if (account === undefined || !isNeeded(error, account)) throw error
      return sendToPage(call, upstream, account, host)
    }
  }
}

/** Waits a while for the login of a caller who has gone to the page, and tells whether he would not. */
async function cameBack(call: Call, account: string, host: AnswersHost): Promise<'refused' | undefined> {
  const visit = visited(call)
  const link = visit === undefined ? undefined : await linkOf(call, account, host)
  if (link === undefined) return undefined
  if (visit === 'refused') return visit
  await link.made(PATIENCE_MS)
  return undefined
}

/** The link that a caller was sent to; one of this replica where another one has sent it. */
async function linkOf(call: Call, account: string, host: AnswersHost): Promise<Link | undefined> {
  const { upstream } = call
  const own = host.links.of(account, upstream)
  if (own !== undefined || !(await host.visits.isSent(account, upstream))) return own
  return openLink(call, upstream, account, host)
}

/** Opens the page of a login; undefined where clients cannot come to one. */
function openLink(
  { exchange: { session, principal } }: Call,
  upstream: string,
  account: string,
  host: AnswersHost,
): Link | undefined {
  const base = host.baseOf(session.listener)
  const proof = host.proofOf(principal)
  if (base === undefined || proof === undefined) return undefined
  const link = host.links.open({
    principal,
    account,
    upstream,
    base,
    proof,
    client: session.client.info.name,
  })
  host.visits.sent(link)
  return link
}

/** A connection that was refused a moment ago is not tried again at once: a login that was made meanwhile is worth the wait. */
async function calledAfterLogin(
  next: Dispatch,
  call: Call,
  account: string | undefined,
  host: AnswersHost,
): Promise<Answer> {
  try {
    return await next(call)
  } catch (error) {
    if (account === undefined || !isNeeded(error, account) || isOfCall(error)) throw error
    if (!host.hasLoggedIn(account, call.upstream)) throw error
    await host.rest(AGAIN_MS)
    return next(call)
  }
}

/** True where one call wants more than the login has: that one is no older than the login. */
function isOfCall(error: unknown): boolean {
  return error instanceof GatewayError && error.fields.ofCall === true
}

function isNeeded(error: unknown, account: string): boolean {
  return error instanceof GatewayError && error.code === NEEDED && error.fields.account === account
}

/** Answer of a retry's client about the page: its user has gone there, or would not. */
function visited({ exchange }: Call): 'gone' | 'refused' | undefined {
  const responses = exchange.params?.inputResponses
  const actions = isObject(responses)
    ? Object.values(responses).map(one => (isObject(one) ? one.action : undefined))
    : []
  if (actions.length === 0) return undefined
  return actions.includes('decline') || actions.includes('cancel') ? 'refused' : 'gone'
}

function sendToPage(call: Call, upstream: string, account: string, host: AnswersHost): Answer {
  const { session, principal } = call.exchange
  const needs = `"${upstream}" needs a login of yours first.`
  const command = `gateway login ${upstream} --account ${quoted(nameOf(principal))}`
  const link = openLink(call, upstream, account, host)
  if (link === undefined)
    return failed(call, `${needs} Ask the owner of this gateway, who can run: ${command}`)
  const withCode = link.code === undefined ? '' : ` Type this code there: ${link.code}`
  if (!opensPages(session.client))
    return failed(
      call,
      `${needs} Open ${link.url} in a browser, and then call again.${withCode} On the machine of the gateway its owner can run: ${command}`,
    )
  return visitOf(call, link, `${needs}${withCode}`)
}

/** The form of 2025-11-25; a modern client gets it as input that is required, and comes back with the same request. */
function visitOf({ exchange }: Call, link: Link, message: string): Answer {
  const elicitationId = randomUUID()
  if (exchange.session.client.era === 'legacy') link.tell(elicitationId, exchange.session)
  const elicitation = { mode: 'url', elicitationId, url: link.url, message }
  return refuse(RPC.legacyUrlElicitation, message, { elicitations: [elicitation] })
}

/** One argument of a shell, whatever the caller is called. */
function quoted(text: string): string {
  return /^[\w.:@/-]+$/.test(text) ? text : `'${toOneLine(text).replaceAll("'", "'\\''")}'`
}

function opensPages({ capabilities, version }: ClientSide): boolean {
  const { elicitation } = capabilities
  return version >= URLS_SINCE && isObject(elicitation) && isObject(elicitation.url)
}

/** A result that the model can read, where there is such a thing. */
function failed({ method }: Call, text: string): Answer {
  if (method === 'tools/call') return answer(toolError(text))
  return refuse(RPC.internal, text, { code: NEEDED })
}
