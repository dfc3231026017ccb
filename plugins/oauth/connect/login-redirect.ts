import { randomUUID } from 'node:crypto'
import type { Answer, Call, ClientDescription, Dispatch, Principal } from '../../../src/plugin.ts'
import { answer, GatewayError, isObject, toOneLine, refuse, RPC, toolError } from '../../../src/plugin.ts'
import { getAccount, formatCaller } from '../callers.ts'
import type { LoginLink, LoginLinks, Proof } from './login-links.ts'

export interface LoginRedirectDeps {
  readonly links: LoginLinks
  wait(ms: number): Promise<void>
  /** The gateway's URL for a listener's clients; undefined if browsers cannot reach it. */
  getBaseUrl(listener: string): string | undefined
  /** Returns true if a caller has logged in since it was asked to. */
  hasLoggedIn(account: string, upstream: string): boolean
  /** How a caller can prove its identity in a browser; undefined if it cannot. */
  getProof(principal: Principal): Proof | undefined
}

/** Methods called by a user; lists are fetched for other reasons too. */
const SENDS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])
/** How long a call waits for a login after the user opened the page. */
const PATIENCE_MS = 5000
/** Longer than a connection's pause after a missing login. */
const AGAIN_MS = 1200
/** First protocol version with URL elicitation. */
const URLS_SINCE = '2025-11-25'
const NEEDED = 'GW_LOGIN_NEEDED'

/** Wraps dispatch: a caller without a login is sent to a login page, and its retry waits for the login. */
export function wrapWithLogins(upstream: string, next: Dispatch, deps: LoginRedirectDeps): Dispatch {
  return async call => {
    if (!SENDS.has(call.method)) return next(call)
    const account = getAccount(call.exchange.principal)
    if (account === undefined) return next(call)
    const action = readVisitAction(call)
    if (action === 'gone') await deps.links.findByCaller(account, upstream)?.waitUntilDone(PATIENCE_MS)
    try {
      return await callAfterLogin(next, call, account, deps)
    } catch (error) {
      if (!isLoginNeeded(error, account)) throw error
      return action === 'refused'
        ? createTextAnswer(call, `The login to "${upstream}" was declined, so the call was not made.`)
        : redirectToPage(call, upstream, account, deps)
    }
  }
}

/** Opens a login page; undefined if clients cannot reach one. */
function openLink(
  { exchange: { session, principal } }: Call,
  upstream: string,
  account: string,
  deps: LoginRedirectDeps,
): LoginLink | undefined {
  const base = deps.getBaseUrl(session.listener)
  const proof = deps.getProof(principal)
  if (base === undefined || proof === undefined) return undefined
  const client = session.client.info.name
  return deps.links.openOrCreate({ principal, account, upstream, base, proof, client })
}

/** Calls again after a short wait if the caller has logged in meanwhile, as the connection may still pause. */
async function callAfterLogin(next: Dispatch, call: Call, account: string, deps: LoginRedirectDeps): Promise<Answer> {
  try {
    return await next(call)
  } catch (error) {
    if (!isLoginNeeded(error, account) || isCallSpecific(error)) throw error
    if (!deps.hasLoggedIn(account, call.upstream)) throw error
    await deps.wait(AGAIN_MS)
    return next(call)
  }
}

/** Returns true if only this call lacks scopes; then waiting for a login is useless. */
function isCallSpecific(error: unknown): boolean {
  return error instanceof GatewayError && error.fields.ofCall === true
}

function isLoginNeeded(error: unknown, account: string): boolean {
  return error instanceof GatewayError && error.code === NEEDED && error.fields.account === account
}

/** Reads the user's decision from a retry's input responses. */
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
  const needs = `"${upstream}" requires you to log in.`
  const command = `gateway login ${upstream} --account ${quoteShellArgument(formatCaller(principal))}`
  const link = openLink(call, upstream, account, deps)
  if (link === undefined) return createTextAnswer(call, `${needs} Ask the owner of this gateway to run: ${command}`)
  const withCode = link.code === undefined ? '' : ` Enter this code there: ${link.code}`
  if (!canOpenPages(session.client))
    return createTextAnswer(
      call,
      `${needs} Open ${link.url} in a browser, then call again.${withCode} The owner of the gateway can also run: ${command}`,
    )
  return createUrlElicitation(call, link, `${needs}${withCode}`)
}

/** Creates a URL elicitation (2025-11-25); for a modern client it becomes an input request. */
function createUrlElicitation({ exchange }: Call, link: LoginLink, message: string): Answer {
  const elicitationId = randomUUID()
  if (exchange.session.client.era === 'legacy') link.notifyOnDone(elicitationId, exchange.session)
  const elicitation = { mode: 'url', elicitationId, url: link.url, message }
  return refuse(RPC.legacyUrlElicitation, message, { elicitations: [elicitation] })
}

function quoteShellArgument(text: string): string {
  return /^[\w.:@/-]+$/.test(text) ? text : `'${toOneLine(text).replaceAll("'", "'\\''")}'`
}

function canOpenPages({ capabilities, version }: ClientDescription): boolean {
  const { elicitation } = capabilities
  return version >= URLS_SINCE && isObject(elicitation) && isObject(elicitation.url)
}

/** Creates a tool result for the model, or an error for other methods. */
function createTextAnswer({ method }: Call, text: string): Answer {
  if (method === 'tools/call') return answer(toolError(text))
  return refuse(RPC.internal, text, { code: NEEDED })
}
