/** Formats the cursor of an upstream's page; without its own cursor, of its first page. */
export function formatCursor(upstream: string, cursor?: string): string {
  return cursor === undefined ? upstream : `${upstream}:${cursor}`
}

/** Parses a cursor; undefined if it names no upstream. */
export function parseCursor(
  cursor: unknown,
  names: readonly string[],
): { readonly upstream: string; readonly cursor?: string } | undefined {
  if (typeof cursor !== 'string') return undefined
  const at = cursor.indexOf(':')
  const upstream = at < 0 ? cursor : cursor.slice(0, at)
  if (!names.includes(upstream)) return undefined
  return at < 0 ? { upstream } : { upstream, cursor: cursor.slice(at + 1) }
}
