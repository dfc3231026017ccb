/** The listener's own endpoints: MCP, HTTP+SSE and where its clients post, WebSocket, and the probes. */
export type PlaceKind = 'mcp' | 'sse' | 'messages' | 'ws' | 'live' | 'ready'

/** An endpoint of the listener itself. */
export interface Place {
  readonly kind: PlaceKind
  /** The profile that the path names. */
  readonly profile?: string
}

interface Endpoints {
  readonly path: string
  readonly sse?: false | { readonly path: string; readonly messages: string }
  readonly ws?: false | { readonly path: string }
}

/** Lists every path that an HTTP listener serves by itself; all others are a plugin's or nobody's. The first of two with one path counts. */
export function placesOf(
  { path, sse, ws }: Endpoints,
  profiles: Iterable<string>,
): ReadonlyMap<string, Place> {
  const places: (readonly [path: string, place: Place])[] = [[path, { kind: 'mcp' }]]
  if (sse) places.push([sse.path, { kind: 'sse' }], [sse.messages, { kind: 'messages' }])
  if (ws) places.push([ws.path, { kind: 'ws' }])
  for (const profile of profiles) places.push([`${path}/${profile}`, { kind: 'mcp', profile }])
  for (const probe of ['/livez', '/healthz']) places.push([probe, { kind: 'live' }])
  places.push(['/readyz', { kind: 'ready' }])
  return new Map(places.reverse())
}
