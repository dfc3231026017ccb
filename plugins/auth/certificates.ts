import { BoundedMap, type ClientCertificate, type Config, globs, type Principal } from '../../src/plugin.ts'
import type { WithImplied } from './scopes.ts'

type AuthConfig = NonNullable<Config['auth']>

/** Callers by certificate that are remembered, so that each stays one object. */
const MAX_CALLERS = 10_000

/** Callers of whom a certificate says who they are. The listener has verified it; here it is decided whose it is. */
export class Certificates {
  readonly #accepted: readonly {
    readonly issuer: string
    readonly isSubject: (text: string) => boolean
    readonly scopes: readonly string[]
  }[]
  readonly #callers = new BoundedMap<string, Principal>({ max: MAX_CALLERS })
  readonly #withImplied: WithImplied

  constructor(specs: AuthConfig['certificates'] = [], withImplied: WithImplied) {
    this.#accepted = specs.map(({ issuer, subjects, scopes }) => ({
      issuer,
      isSubject: globs(subjects),
      scopes,
    }))
    this.#withImplied = withImplied
  }

  get any(): boolean {
    return this.#accepted.length > 0
  }

  /** Finds whose certificate it is, or the reason why it is nobody's, for the log. */
  identify({ issuer, subject, expiresAt }: ClientCertificate): Principal | string {
    if (Date.now() > expiresAt) return `the certificate of ${subject} has run out`
    const key = JSON.stringify([issuer, subject])
    const known = this.#callers.get(key)
    if (known !== undefined) return known
    const fits = this.#accepted.filter(one => one.issuer === issuer && one.isSubject(subject))
    if (fits.length === 0) return `auth.certificates has no entry for ${subject} of ${issuer}`
    const scopes = Object.freeze([...new Set(fits.flatMap(one => one.scopes))])
    const principal = this.#withImplied(Object.freeze({ issuer, client: '', subject, scopes }))
    this.#callers.set(key, principal)
    return principal
  }
}
