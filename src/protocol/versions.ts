import type { JsonObject } from './json/json.ts'

/** legacy: `initialize` handshake, up to 2025-11-25. modern: per-request metadata, from 2026-07-28. */
export type Era = 'legacy' | 'modern'

export const MODERN_VERSION = '2026-07-28'
export const LATEST_LEGACY_VERSION = '2025-11-25'
/** Version assumed of a legacy HTTP client that sends no version header (2025-11-25, transports). */
const ASSUMED_LEGACY_VERSION = '2025-03-26'

/** Legacy versions we speak, newest first. */
export const LEGACY_VERSIONS: readonly string[] = [
  LATEST_LEGACY_VERSION,
  '2025-06-18',
  ASSUMED_LEGACY_VERSION,
  '2024-11-05',
  '2024-10-07',
]

/** Modern versions we speak, newest first. */
export const MODERN_VERSIONS: readonly string[] = [MODERN_VERSION]

export function isModern(version: string): boolean {
  return MODERN_VERSIONS.includes(version)
}

export function isLegacy(version: string): boolean {
  return LEGACY_VERSIONS.includes(version)
}

/** Tells whether a version string is of the modern line, served by us or not. ISO dates compare as text. */
export function looksModern(version: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= MODERN_VERSION
}

/** The version to answer `initialize` with: the client's own if we speak it, else our latest legacy one. */
export function negotiateLegacy(requested: unknown): string {
  return typeof requested === 'string' && isLegacy(requested) ? requested : LATEST_LEGACY_VERSION
}

/** Client that reads a message, as far as the form of the message depends on it. */
export interface Reader {
  readonly era: Era
  readonly version: string
  readonly capabilities: JsonObject
}

const NEWEST: Readonly<Record<Era, Reader>> = {
  legacy: { era: 'legacy', version: LATEST_LEGACY_VERSION, capabilities: {} },
  modern: { era: 'modern', version: MODERN_VERSION, capabilities: {} },
}

/** A client of which only the era is known: it reads the newest form of it. */
export function newestReader(era: Era): Reader {
  return NEWEST[era]
}

/** The first version with structured output and resource links. */
export const STRUCTURED_SINCE = '2025-06-18'
