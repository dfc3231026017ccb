/** A person, as the gateway's own identity provider names it. */
export interface Person {
  readonly issuer: string
  readonly subject: string
}

/** A login at the identity provider that a browser has been sent to. */
export interface PersonLogin {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** The link that it is for. */
  readonly link: string
}
