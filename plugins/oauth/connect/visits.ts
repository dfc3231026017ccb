import { createHash } from 'node:crypto'
import { isObject, type SharedStore } from '../../../src/plugin.ts'
import { type Link, LINK_MS } from './links.ts'

const MADE = 'made'

type Login = Pick<Link, 'account' | 'upstream'>

/** Callers that any replica has sent to a page: their next request comes to another one, which has no link of theirs. */
export class Visits {
  readonly #shared: SharedStore | undefined
  readonly #made: (account: string, upstream: string) => void
  #end: (() => void) | undefined

  /** `made` is called when another replica says that a login was made. */
  constructor(shared: SharedStore | undefined, made: (account: string, upstream: string) => void) {
    this.#shared = shared
    this.#made = made
  }

  /** Notes that a caller is sent to the page of a link. */
  sent({ account, upstream }: Login): void {
    this.#listen()
    this.#shared?.put(keyOf(account, upstream), '1', { ms: LINK_MS }).catch(() => undefined)
  }

  /** True where some replica has sent a caller, who has not logged in since. */
  async isSent(account: string, upstream: string): Promise<boolean> {
    this.#listen()
    try {
      return (await this.#shared?.get(keyOf(account, upstream))) !== undefined
    } catch {
      return false
    }
  }

  /** Tells the others that the login of a link is made, so that what waits for it there goes on. */
  async made({ account, upstream }: Login): Promise<void> {
    const shared = this.#shared
    if (shared === undefined) return
    try {
      await shared.delete(keyOf(account, upstream))
      await shared.publish(MADE, shared.seal(JSON.stringify({ account, upstream }), MADE))
    } catch {
      // A caller that waits there asks the vault a little later.
    }
  }

  /** Hears of the others from the first link on, for as long as the process lives. */
  #listen(): void {
    this.#end ??= this.#shared?.subscribe(MADE, sealed => {
      const text = this.#shared?.open(sealed, MADE)
      const said: unknown = text === undefined ? undefined : JSON.parse(text)
      if (isObject(said)) this.#made(String(said.account), String(said.upstream))
    })
  }
}

function keyOf(account: string, upstream: string): string {
  return `sent ${createHash('sha256')
    .update(JSON.stringify([account, upstream]))
    .digest('base64url')}`
}
