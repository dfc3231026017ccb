import { hash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { PeerDirectory } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'
import type { KeyRing } from './key-ring.ts'

/** Voucher lifetime in milliseconds. */
const LIFE_MS = 10_000
/** Maximum clock difference between machines. */
const SKEW_MS = 20_000
const MAX_NONCES = 200_000

/** Answers a forwarded request. */
export type ServeForwarded = Parameters<PeerDirectory['registerListener']>[1]
type ForwardedRequest = Parameters<ServeForwarded>[2]

/** Why a voucher was rejected. */
export interface VoucherProblem {
  readonly problem: string
  /** True if only the time was wrong. */
  readonly isRetryable?: boolean
}

/** Signed single-use proofs that a replica forwards a request, each bound to one request and one target. */
export class Vouchers {
  readonly #ring: KeyRing
  /** Used nonces in two generations, which together cover a voucher's lifetime. */
  #recent = new Set<string>()
  #older = new Set<string>()
  #turnedAt = Date.now()
  /** Random per process, so that counter-based nonces are unique. */
  readonly #start = randomBytes(12).toString('base64url')
  #written = 0

  constructor(ring: KeyRing) {
    this.#ring = ring
  }

  issue(request: IncomingMessage, handed: ForwardedRequest, from: string, to: string): string {
    const { listener: l, remoteAddress: r, certificate: c } = handed
    const nonce = `${this.#start}${++this.#written}`
    const about = { f: from, t: to, l, r, c, e: Date.now() + LIFE_MS, n: nonce, d: hashRequest(request) }
    return this.#ring.sign('hand-on', about)
  }

  /** Verifies a voucher for the replica `me` and marks it as used. */
  redeem(voucher: string, request: IncomingMessage, me: string): ForwardedRequest | VoucherProblem {
    const about = this.#ring.readSigned('hand-on', voucher)
    if (!isObject(about)) return { problem: 'invalid signature' }
    const { t: to, l: listener, r: remoteAddress, c: certificate, n: nonce } = about
    if (to !== me) return { problem: 'issued for another replica' }
    const now = Date.now()
    if (about.d !== hashRequest(request)) return { problem: 'issued for another request' }
    if (!isInTime(about.e, now)) return { problem: 'expired, or clocks differ', isRetryable: true }
    if (!this.#isNew(String(nonce), now)) return { problem: 'already used' }
    return {
      listener: String(listener),
      remoteAddress: typeof remoteAddress === 'string' ? remoteAddress : undefined,
      certificate: isObject(certificate) ? (certificate as unknown as ForwardedRequest['certificate']) : undefined,
    }
  }

  #isNew(nonce: string, now: number): boolean {
    if (now - this.#turnedAt > LIFE_MS + 2 * SKEW_MS || this.#recent.size >= MAX_NONCES) {
      this.#older = this.#recent
      this.#recent = new Set()
      this.#turnedAt = now
    }
    if (this.#recent.has(nonce) || this.#older.has(nonce)) return false
    this.#recent.add(nonce)
    return true
  }
}

function isInTime(until: unknown, now: number): boolean {
  return typeof until === 'number' && until >= now - SKEW_MS && until <= now + LIFE_MS + SKEW_MS
}

function hashRequest({ method = '', url = '', headers }: IncomingMessage): string {
  const { authorization = '' } = headers
  const text = [method, url, authorization].map(part => `${part.length}:${part}`).join('')
  return hash('sha256', text, 'base64url').slice(0, 22)
}
