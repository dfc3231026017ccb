/** Names of all that replicas keep in common. One script may read several, so they are kept together. */
export interface StoreKeys {
  readonly roster: string
  replica(id: string): string
  /** There for a while when a replica has left by itself. */
  left(id: string): string
  session(id: string): string
}

export function storeKeys(gateway: string): StoreKeys {
  const prefix = `tg:{${gateway}}:`
  return {
    roster: `${prefix}replicas`,
    replica: id => `${prefix}replica:${id}`,
    left: id => `${prefix}left:${id}`,
    session: id => `${prefix}s:${id}`,
  }
}
