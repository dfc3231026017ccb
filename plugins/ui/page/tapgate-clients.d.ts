/** Clients supported by `gateway connect`, inserted at build time. */
declare module 'tapgate:clients' {
  export const clients: readonly {
    readonly name: string
    readonly title: string
    readonly format: 'json' | 'toml' | 'yaml'
    readonly key: readonly string[]
    readonly list?: boolean
    readonly stdio: Readonly<Record<string, unknown>>
    readonly http?: Readonly<Record<string, unknown>>
    /** Key path of request headers in an entry; `headers` by default. */
    readonly headers?: readonly string[]
    /** Command that adds a server at `$url`, and its option for an API key. */
    readonly add?: string
    readonly addKey?: string
    readonly note?: string
    readonly user: Readonly<Record<string, string>>
  }[]
}
