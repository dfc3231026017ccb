import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Config, HttpReply, HttpRequest, JsonObject, PluginApi } from '../../src/plugin.ts'
import { getErrorMessage, readMap, tryParseJson } from '../../src/plugin.ts'
import { selectArguments, summarizeArguments } from './format-arguments.ts'
import type { Decision, OpenCall, WaitingCalls } from './approver.ts'

type WebhookConfig = NonNullable<NonNullable<Config['approve']>['webhook']>

const SIGNATURE = 'x-tapgate-signature'
const TIMESTAMP = 'x-tapgate-timestamp'
/** Maximum signed request age, against replay. */
const MAX_AGE_MS = 300_000
/** An id with a replica, as in clusters. */
const REPLICA_ID = /^(r[0-9a-f]{16})\./

/** Notifies an external program about pending calls and receives its decisions. */
export class Webhook {
  readonly #config: WebhookConfig
  readonly #api: Pick<PluginApi, 'fetch' | 'log' | 'hide'>

  constructor(config: WebhookConfig, api: Pick<PluginApi, 'fetch' | 'log' | 'hide'>) {
    this.#config = config
    this.#api = api
  }

  /**
   * Sends the notification. Returns the decision if the response contains one, undefined if it follows later, false
   * if delivery failed.
   */
  async notify(open: OpenCall): Promise<Decision | undefined | false> {
    const { url } = this.#config
    const body = this.#api.hide(JSON.stringify(formatNotice(open)))
    try {
      const headers = { 'content-type': 'application/json', ...this.#signHeaders(body) }
      const response = await this.#api.fetch(url, { namedBy: url, method: 'POST', headers, body })
      const text = await response.text()
      if (!response.ok) throw new Error(`status ${response.status}`)
      const isSigned = this.#isSigned(text, name => response.headers.get(name) ?? undefined)
      const said = isSigned ? parseDecision(text) : undefined
      return said?.id === open.id ? said.decision : undefined
    } catch (error) {
      this.#api.log.warn('approval webhook failed', { id: open.id, why: getErrorMessage(error) })
      return false
    }
  }

  /** Receives a later decision. */
  async handleDecision(request: HttpRequest, waiting: WaitingCalls): Promise<HttpReply> {
    if (request.method !== 'POST') return createReply(405, 'POST a decision')
    const body = (await request.body()).toString('utf8')
    if (!this.#isSigned(body, name => request.header(name)[0])) return createReply(401, 'invalid signature')
    const said = parseDecision(body)
    if (said === undefined) return createReply(400, 'invalid decision')
    if (waiting.decide(said.id, said.decision)) return createReply(200, 'decided')
    const replicaId = REPLICA_ID.exec(said.id)?.[1]
    const unknown = createReply(404, 'no such pending call')
    return replicaId === undefined ? unknown : { ...unknown, replicaId }
  }

  #signHeaders(body: string): Record<string, string> {
    const timestamp = String(Date.now())
    return { [TIMESTAMP]: timestamp, [SIGNATURE]: this.#computeSignature(timestamp, body) }
  }

  #isSigned(body: string, header: (name: string) => string | undefined): boolean {
    const timestamp = header(TIMESTAMP) ?? ''
    const age = Math.abs(Date.now() - Number(timestamp))
    if (!/^\d{10,16}$/.test(timestamp) || age > MAX_AGE_MS) return false
    const signature = Buffer.from(header(SIGNATURE) ?? '')
    const own = Buffer.from(this.#computeSignature(timestamp, body))
    return signature.length === own.length && timingSafeEqual(signature, own)
  }

  #computeSignature(timestamp: string, body: string): string {
    return `sha256=${createHmac('sha256', this.#config.secret).update(`${timestamp}.${body}`).digest('hex')}`
  }
}

function formatNotice({ id, digest, request, until }: OpenCall): JsonObject {
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
    arguments: selectArguments(request),
    text: summarizeArguments(request),
    expiresAt: new Date(until).toISOString(),
  }
}

function parseDecision(text: string): { readonly id: string; readonly decision: Decision } | undefined {
  const { decision, id } = readMap(tryParseJson(text))
  if (typeof id !== 'string' || (decision !== 'approve' && decision !== 'deny')) return undefined
  return { id, decision: { outcome: decision === 'approve' ? 'approved' : 'denied', by: 'webhook' } }
}

function createReply(status: number, text: string): HttpReply {
  return { status, headers: { 'content-type': 'text/plain' }, body: text }
}
