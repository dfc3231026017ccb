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

/** Sealed single-use proofs that a replica forwards a request, each bound to one request and one target. */
export class Vouchers {
  readonly #ring: KeyRing
  /** Time until which each used nonce could be replayed, oldest first. */
  readonly #usedNonces = new Map<string, number>()

  constructor(ring: KeyRing) {
    this.#ring = ring
  }

  issue(request: IncomingMessage, handed: ForwardedRequest, to: string): string {
    const { listener: l, remoteAddress: r, certificate: c } = handed
    return this.#ring.seal(
      'hand-on',
      { l, r, c, e: Date.now() + LIFE_MS, n: randomBytes(12).toString('base64url'), d: hashRequest(request) },
      to,
    )
  }

  /** Verifies a voucher for the replica `me` and marks it as used. */
  redeem(voucher: string, request: IncomingMessage, me: string): ForwardedRequest | VoucherProblem {
    const about = this.#ring.open('hand-on', voucher, me)
    if (!isObject(about)) return { problem: 'invalid proof, or for another replica' }
    const { l: listener, r: remoteAddress, c: certificate } = about
    const nonce = String(about.n)
    const now = Date.now()
    if (about.d !== hashRequest(request)) return { problem: 'issued for another request' }
    if (!isInTime(about.e, now)) return { problem: 'expired, or clocks differ', isRetryable: true }
    if (this.#usedNonces.has(nonce)) return { problem: 'already used' }
    for (const [used, until] of this.#usedNonces) {
      if (until > now && this.#usedNonces.size < MAX_NONCES) break
      this.#usedNonces.delete(used)
    }
    this.#usedNonces.set(nonce, now + LIFE_MS + 2 * SKEW_MS)
    return {
      listener: String(listener),
      remoteAddress: typeof remoteAddress === 'string' ? remoteAddress : undefined,
      certificate: isObject(certificate) ? (certificate as unknown as ForwardedRequest['certificate']) : undefined,
    }
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
