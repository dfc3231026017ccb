/** The way bytes go between two peers. */
export type Transport = 'stdio' | 'http' | 'sse' | 'ws'

/** The transport before the gateway and the one behind it; without a gateway there is only the first. */
interface Way {
  readonly client: Transport
  readonly server: Transport
}

/** The ways of the matrix, by the name they have in it. */
export const WAYS = {
  stdio: { client: 'stdio', server: 'stdio' },
  http: { client: 'http', server: 'http' },
  sse: { client: 'sse', server: 'sse' },
  ws: { client: 'ws', server: 'ws' },
  'stdio-http': { client: 'stdio', server: 'http' },
  'http-stdio': { client: 'http', server: 'stdio' },
  'http-sse': { client: 'http', server: 'sse' },
  'ws-http': { client: 'ws', server: 'http' },
} as const satisfies Record<string, Way>

export type WayName = keyof typeof WAYS

/** Says whether the two sides of the gateway differ. */
export function isMixed(way: WayName): boolean {
  return WAYS[way].client !== WAYS[way].server
}

/** The columns of the matrix: each way alone and with the gateway between, where both are possible. */
export const COLUMNS = (Object.keys(WAYS) as WayName[]).flatMap(transport =>
  (isMixed(transport) ? (['gateway'] as const) : (['direct', 'gateway'] as const)).map(route => ({
    transport,
    route,
  })),
)
