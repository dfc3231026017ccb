/** What a handler throws to answer a request of the agent with an error. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused'
  /** JSON-RPC code. */
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}
