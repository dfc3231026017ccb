import { isObject, type JsonObject } from './json/json.ts'

/** Whether a browser may be sent there: pages, and nothing that runs code or reads files. */
export function isPage(url: unknown): boolean {
  return schemeOf(url) === 'https:' || schemeOf(url) === 'http:'
}

/** Whether an icon may be loaded from there (2025-11-25, "Icons": consumers reject unsafe schemes). */
function isIcon(source: unknown): boolean {
  return isPage(source) || (typeof source === 'string' && /^data:image\/[\w.+-]+[;,]/i.test(source))
}

/** The scheme as a browser reads it: without the blanks and line ends that may hide it. */
function schemeOf(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).protocol : undefined
}

/** The entry of a list without icons that no client should load; the same entry where there are none. */
export function withSafeIcons(entry: JsonObject): JsonObject {
  const { icons } = entry
  if (!Array.isArray(icons)) return entry
  const safe = (icons as unknown[]).filter(icon => isObject(icon) && isIcon(icon.src))
  if (safe.length === icons.length) return entry
  const { icons: _unsafe, ...rest } = entry
  return safe.length === 0 ? rest : { ...rest, icons: safe }
}
