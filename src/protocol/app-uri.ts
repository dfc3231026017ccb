const SCHEME = /^ui:\/\/(.*)$/is
/** A host of its own, as servers often use their own name: `ui://crm/…` of `crm` can be told from this. */
const EXPOSED = /^ui:\/\/([a-z][a-z0-9-]*)\.tapgate\/(.*)$/is

/** Returns the URI that clients see: `ui://refunds.html` of `crm` becomes `ui://crm.tapgate/refunds.html`. */
export function toAppUri(upstream: string, uri: string): string {
  return uri.replace(SCHEME, (_, rest: string) => `ui://${upstream}.tapgate/${rest}`)
}

/** Returns the upstream and its own URI; undefined if the URI has another form. */
export function parseAppUri(uri: string): { readonly upstream: string; readonly uri: string } | undefined {
  const [, upstream, rest = ''] = EXPOSED.exec(uri) ?? []
  return upstream === undefined ? undefined : { upstream, uri: `ui://${rest}` }
}
