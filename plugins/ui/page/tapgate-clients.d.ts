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
    readonly note?: string
    readonly user: Readonly<Record<string, string>>
  }[]
}
