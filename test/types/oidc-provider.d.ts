/** The part of `oidc-provider` that tests use; the package brings no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  interface SavedToken {
    readonly jti: string
    readonly scope?: string
  }

  interface Granted {
    readonly oidc: {
      readonly entities: {
        readonly AccessToken?: { readonly scope?: string }
        readonly Account?: { readonly accountId: string }
      }
    }
  }

  export class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
    on(event: 'access_token.saved', listener: (token: SavedToken) => void): this
    on(event: 'grant.error', listener: (context: unknown, error: Error) => void): this
    on(event: 'grant.success', listener: (context: Granted) => void): this
    on(event: string, listener: () => void): this
  }

  export { Provider as default }
}
