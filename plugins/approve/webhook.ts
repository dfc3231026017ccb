import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Config, HttpReply, HttpRequest, JsonObject, PluginApi } from '../../src/plugin.ts'
import { isObject, getErrorMessage } from '../../src/plugin.ts'
import { shownArguments, summarizeArguments } from './arguments-text.ts'
import type { Decision, Decisions, OpenCall } from './waiting-calls.ts'

type WebhookConfig = NonNullable<NonNullable<Config['approve']>['webhook']>

const SIGNATURE = 'x-tapgate-signature'
const TIMESTAMP = 'x-tapgate-timestamp'
/** A signed text that is older is somebody's copy. */
const MAX_AGE_MS = 300_000
const AGAIN = { 'content-type': 'text/plain', 'retry-after': '1' }
const DECISIONS = { approve: 'approved', deny: 'denied' } as const

/** A program that is told of calls that wait, and decides about them. */
export class Webhook {
  readonly #config: WebhookConfig
  readonly #api: Pick<PluginApi, 'fetch' | 'log' | 'hide'>

  constructor(config: WebhookConfig, api: Pick<PluginApi, 'fetch' | 'log' | 'hide'>) {
    this.#config = config
    this.#api = api
  }

  /** Tells of a call. The decision, where the answer has one; undefined where it comes later; false where nobody heard. */
  async tell(open: OpenCall): Promise<Decision | undefined | false> {
    const { url } = this.#config
    const body = this.#api.hide(JSON.stringify(told(open)))
    try {
      const headers = { 'content-type': 'application/json', ...this.#signed(body) }
      const response = await this.#api.fetch(url, { namedBy: url, method: 'POST', headers, body })
      const text = await response.text()
      if (!response.ok) throw new Error(`it answered ${response.status}`)
      const isSigned = this.#isSigned(text, (name: string) => response.headers.get(name) ?? undefined)
      return isSigned ? decisionIn(text, open.id, 'webhook') : undefined
    } catch (error) {
      this.#api.log.warn('the webhook for approvals could not be told', {
        id: open.id,
        why: getErrorMessage(error),
      })
      return false
    }
  }

  /** A decision that comes later. */
  async answer(request: HttpRequest, decisions: Decisions): Promise<HttpReply> {
    if (request.method !== 'POST') return reply(405, 'POST a decision')
    const body = (await request.body()).toString('utf8')
    if (!this.#isSigned(body, name => request.header(name)[0]))
      return reply(401, 'the signature is not valid')
    const id = idIn(body)
    const decision = id === undefined ? undefined : decisionIn(body, id, 'webhook')
    if (id === undefined || decision === undefined) return reply(400, 'it holds no decision')
    try {
      return (await decisions.decide(id, decision)) ? reply(200, 'decided') : reply(404, 'no such call waits')
    } catch (error) {
      this.#api.log.warn('a decision cannot be taken now', { id, why: getErrorMessage(error) })
      return { ...reply(503, 'it cannot be told whether such a call waits; try again'), headers: AGAIN }
    }
  }

  #signed(body: string): Record<string, string> {
    const timestamp = String(Date.now())
    return { [TIMESTAMP]: timestamp, [SIGNATURE]: this.#signatureOf(timestamp, body) }
  }

  #isSigned(body: string, header: (name: string) => string | undefined): boolean {
    const timestamp = header(TIMESTAMP) ?? ''
    const age = Math.abs(Date.now() - Number(timestamp))
    if (!/^\d{10,16}$/.test(timestamp) || age > MAX_AGE_MS) return false
    const given = Buffer.from(header(SIGNATURE) ?? '')
    const own = Buffer.from(this.#signatureOf(timestamp, body))
    return given.length === own.length && timingSafeEqual(given, own)
  }

  #signatureOf(timestamp: string, body: string): string {
    return `sha256=${createHmac('sha256', this.#config.secret).update(`${timestamp}.${body}`).digest('hex')}`
  }
}

function told({ id, digest, request, until }: OpenCall): JsonObject {
  const { call, rule, name } = request
  const { issuer, subject, client } = call.exchange.principal
  return {
    id,
    digest,
    rule,
    name,
    method: call.method,
    upstream: call.upstream,
    principal: { issuer, subject, client },
    arguments: shownArguments(request),
    text: summarizeArguments(request),
    expiresAt: new Date(until).toISOString(),
  }
}

function parsed(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function idIn(text: string): string | undefined {
  const { id } = parsed(text)
  return typeof id === 'string' ? id : undefined
}

/** The decision in a text that is about this call. */
function decisionIn(text: string, id: string, by: string): Decision | undefined {
  const { decision, id: own } = parsed(text)
  if (own !== id || (decision !== 'approve' && decision !== 'deny')) return undefined
  return { outcome: DECISIONS[decision], by }
}

function reply(status: number, text: string): HttpReply {
  return { status, headers: { 'content-type': 'text/plain' }, body: text }
}
