import { isObject } from '../../../src/plugin.ts'
import type { References } from './types.ts'

/** References that lead to references. */
const MAX_HOPS = 32

/**
 * Follows `#/…` within one document. Files and URLs are never read: who writes a document must not choose what this machine
 * reads for him.
 */
export function referencesIn(document: unknown): References {
  return {
    follow(value) {
      let found = value
      for (let hops = 0; isObject(found) && typeof found.$ref === 'string'; hops++) {
        if (hops >= MAX_HOPS) throw new Error('its references lead to each other')
        found = find(document, found.$ref)
      }
      return found
    },
  }
}

function find(document: unknown, reference: string): unknown {
  if (!reference.startsWith('#/'))
    throw new Error(`it refers to ${shown(reference)}, which is not in the document`)
  let found = document
  for (const part of reference.slice(2).split('/')) {
    const key = decoded(part)
    const isThere = typeof found === 'object' && found !== null && Object.hasOwn(found, key)
    if (!isThere) throw new Error(`it refers to ${shown(reference)}, and that is not there`)
    found = (found as Record<string, unknown>)[key]
  }
  return found
}

function decoded(part: string): string {
  let text = part
  try {
    text = decodeURIComponent(part)
  } catch {
    // A per cent sign that encodes nothing stands for itself.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~')
}

function shown(reference: string): string {
  return JSON.stringify(reference.slice(0, 100))
}
