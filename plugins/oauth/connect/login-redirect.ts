import { randomUUID } from 'node:crypto'
import type { Answer, Call, ClientSide, Dispatch, Principal } from '../../../src/plugin.ts'
import { answer, GatewayError, isObject, toOneLine, refuse, RPC, toolError } from '../../../src/plugin.ts'
import { getAccount, formatCaller } from '../callers.ts'
import type { LoginLink, LoginLinks, Proof } from './links.ts'
import type { SentCallers } from './replica-state.ts'

/** Parts of the gateway that sending a caller to its page takes. */
export interface LoginRedirectDeps {
  readonly links: LoginLinks
  readonly sentCallers: Pick<SentCallers, 'noteSent' | 'isSent'>
  /** Resolves after so many milliseconds. */
  wait(ms: number): Promise<void>
  /** URL of the gateway as clients of a listener know it; undefined where they cannot open a page of it. */
  getBaseUrl(listener: string): string | undefined
  /** True where a caller has logged in to an upstream since it was told to, at a page or by a command. */
  hasLoggedIn(account: string, upstream: string): boolean
  /** Tells by what a caller can show in a browser who it is; undefined where it cannot. */
  getProof(principal: Principal): Proof | undefined
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
export function wrapWithLogins(upstream: string, next: Dispatch, deps: LoginRedirectDeps): Dispatch {
  return async call => {
    if (!SENDS.has(call.method)) return next(call)
    const account = getAccount(call.exchange.principal)
    if (account !== undefined && (await awaitLogin(call, account, deps)) === 'refused')
      return createTextAnswer(call, `The login to "${upstream}" was declined, so the call was not made.`)
    try {
      return await callAfterLogin(next, call, account, deps)
    } catch (error) {
      if (account === undefined || !isLoginNeeded(error, account)) throw error
      return redirectToPage(call, upstream, account, deps)
    }
  }
}

/** Waits a while for the login of a caller who has gone to the page, and tells whether he would not. */
async function awaitLogin(
  call: Call,
  account: string,
  deps: LoginRedirectDeps,
): Promise<'refused' | undefined> {
  const visit = readVisitAction(call)
  const link = visit === undefined ? undefined : await findLink(call, account, deps)
  if (link === undefined) return undefined
  if (visit === 'refused') return visit
  await link.waitUntilDone(PATIENCE_MS)
  return undefined
}

/** The link that a caller was sent to; one of this replica where another one has sent it. */
async function findLink(
  call: Call,
  account: string,
  deps: LoginRedirectDeps,
): Promise<LoginLink | undefined> {
  const { upstream } = call
  const own = deps.links.findByCaller(account, upstream)
  if (own !== undefined || !(await deps.sentCallers.isSent(account, upstream))) return own
  return openLink(call, upstream, account, deps)
}

/** Opens the page of a login; undefined where clients cannot come to one. */
function openLink(
  { exchange: { session, principal } }: Call,
  upstream: string,
  account: string,
  deps: LoginRedirectDeps,
): LoginLink | undefined {
  const base = deps.getBaseUrl(session.listener)
  const proof = deps.getProof(principal)
  if (base === undefined || proof === undefined) return undefined
  const link = deps.links.openOrCreate({
    principal,
    account,
    upstream,
    base,
    proof,
    client: session.client.info.name,
  })
  deps.sentCallers.noteSent(link)
  return link
}

/** A connection that was refused a moment ago is not tried again at once: a login that was made meanwhile is worth the wait. */
async function callAfterLogin(
  next: Dispatch,
  call: Call,
  account: string | undefined,
  deps: LoginRedirectDeps,
): Promise<Answer> {
  try {
    return await next(call)
  } catch (error) {
    if (account === undefined || !isLoginNeeded(error, account) || isCallSpecific(error)) throw error
    if (!deps.hasLoggedIn(account, call.upstream)) throw error
    await deps.wait(AGAIN_MS)
    return next(call)
  }
}

/** True where one call wants more than the login has: that one is no older than the login. */
function isCallSpecific(error: unknown): boolean {
  return error instanceof GatewayError && error.fields.ofCall === true
}

function isLoginNeeded(error: unknown, account: string): boolean {
  return error instanceof GatewayError && error.code === NEEDED && error.fields.account === account
}

/** Answer of a retry's client about the page: its user has gone there, or would not. */
function readVisitAction({ exchange }: Call): 'gone' | 'refused' | undefined {
  const responses = exchange.params?.inputResponses
  const actions = isObject(responses)
    ? Object.values(responses).map(one => (isObject(one) ? one.action : undefined))
    : []
  if (actions.length === 0) return undefined
  return actions.includes('decline') || actions.includes('cancel') ? 'refused' : 'gone'
}

function redirectToPage(call: Call, upstream: string, account: string, deps: LoginRedirectDeps): Answer {
  const { session, principal } = call.exchange
  const needs = `"${upstream}" needs a login of yours first.`
  const command = `gateway login ${upstream} --account ${quoteShellArgument(formatCaller(principal))}`
  const link = openLink(call, upstream, account, deps)
  if (link === undefined)
    return createTextAnswer(call, `${needs} Ask the owner of this gateway, who can run: ${command}`)
  const withCode = link.code === undefined ? '' : ` Type this code there: ${link.code}`
  if (!canOpenPages(session.client))
    return createTextAnswer(
      call,
      `${needs} Open ${link.url} in a browser, and then call again.${withCode} On the machine of the gateway its owner can run: ${command}`,
    )
  return createUrlElicitation(call, link, `${needs}${withCode}`)
}

/** The form of 2025-11-25; a modern client gets it as input that is required, and comes back with the same request. */
function createUrlElicitation({ exchange }: Call, link: LoginLink, message: string): Answer {
  const elicitationId = randomUUID()
  if (exchange.session.client.era === 'legacy') link.notifyOnDone(elicitationId, exchange.session)
  const elicitation = { mode: 'url', elicitationId, url: link.url, message }
  return refuse(RPC.legacyUrlElicitation, message, { elicitations: [elicitation] })
}

/** One argument of a shell, whatever the caller is called. */
function quoteShellArgument(text: string): string {
  return /^[\w.:@/-]+$/.test(text) ? text : `'${toOneLine(text).replaceAll("'", "'\\''")}'`
}

function canOpenPages({ capabilities, version }: ClientSide): boolean {
  const { elicitation } = capabilities
  return version >= URLS_SINCE && isObject(elicitation) && isObject(elicitation.url)
}

/** A result that the model can read, where there is such a thing. */
function createTextAnswer({ method }: Call, text: string): Answer {
  if (method === 'tools/call') return answer(toolError(text))
  return refuse(RPC.internal, text, { code: NEEDED })
}
