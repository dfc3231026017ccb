import { createHash } from 'node:crypto'
import type { JsonObject } from '../../src/plugin.ts'
import { BoundedMap, canonicalizeUri, defineErrors, formatBytes, isObject, readText, RPC } from '../../src/plugin.ts'

/** Skill limits (SEP-2640). */
const MAX_FILES = 512
const MAX_BYTES = 16 * 1024 * 1024
const DIGEST = /^sha256:[0-9a-f]{64}$/
const SKILL = /^[a-z][a-z0-9+.-]*:\/\/[^?#]+\/SKILL\.md$/i
const MAX_HELD_BYTES = 64 * 1024 * 1024
const MAX_CALLER_BYTES = 16 * 1024 * 1024

export const ERRORS = {
  GW_SKILL_FILE: {
    text: '{uri} is withheld: {why}. Request skills/get again',
    hint: 'If the current manifest differs as well, the server changes files of a skill without its manifest.',
    http: 502,
    rpc: RPC.internal,
  },
  GW_SKILL_INVALID: {
    text: 'the skill {uri} is withheld: {why}',
    hint: 'The server must list every file of the skill with its size and SHA-256 digest, within the limits.',
    http: 502,
    rpc: RPC.internal,
  },
} as const

export const skillError = defineErrors(ERRORS)

/** Manifests that servers sent to each caller, by skill directory. Files of evicted ones are not verified. */
export class Manifests {
  readonly #held = new BoundedMap<string, JsonObject>({
    ...{ max: 50_000, maxWeight: MAX_HELD_BYTES, shareWeight: MAX_CALLER_BYTES },
  })

  hold(caller: string, upstream: string, skill: JsonObject): void {
    const key = JSON.stringify([caller, upstream, getDirectory(readText(skill, 'uri') ?? '')])
    this.#held.set(key, skill, caller, JSON.stringify(skill).length)
  }

  /** Finds the skill that has this file or directory. */
  find(caller: string, upstream: string, uri: string): JsonObject | undefined {
    const path = `${canonicalizeUri(uri)}/`
    for (let at = path.length; at > 0; at = path.lastIndexOf('/', at - 2) + 1) {
      const skill = this.#held.use(JSON.stringify([caller, upstream, path.slice(0, at)]))
      if (skill !== undefined) return skill
    }
    return undefined
  }
}

function getDirectory(uri: string): string {
  return canonicalizeUri(uri).replace(/[^/]*$/, '')
}

/** Returns why a skill may not be passed on; undefined if its manifest is complete and within the limits. */
export function findSkillProblem({ uri, resources }: JsonObject): string | undefined {
  if (typeof uri !== 'string' || !SKILL.test(uri)) return '"uri" must be the absolute URI of its SKILL.md'
  if (resources === 'dynamic') return undefined
  if (!Array.isArray(resources)) return '"resources" must be a list or "dynamic"'
  const invalid = resources.findIndex(file => !isFile(file))
  if (invalid >= 0)
    return `resources[${invalid}] needs "uri", "size" and "digest" (sha256: and 64 lower-case hex digits)`
  const uris = new Set(resources.map(file => canonicalizeUri(readText(file, 'uri') ?? '')))
  if (uris.size < resources.length) return 'a file is listed twice'
  const outside = [...uris].find(own => !own.startsWith(getDirectory(uri)))
  if (outside !== undefined) return `${outside} is outside its directory`
  if (!uris.has(canonicalizeUri(uri))) return 'the manifest does not list its SKILL.md'
  return findLimitProblem(resources.map(({ size }: JsonObject) => Number(size)))
}

export function findLimitProblem(sizes: readonly number[]): string | undefined {
  if (sizes.length > MAX_FILES) return `${sizes.length} files, the limit is ${MAX_FILES}`
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  return bytes > MAX_BYTES ? `${bytes} bytes in its files, the limit is ${formatBytes(MAX_BYTES)}` : undefined
}

/** Describes a file as a manifest does. */
export function digest(bytes: Buffer): { readonly digest: string; readonly size: number } {
  return { digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`, size: bytes.length }
}

function isFile(file: unknown): boolean {
  if (!isObject(file)) return false
  const { uri, digest, size } = file
  return typeof uri === 'string' && DIGEST.test(String(digest)) && Number.isSafeInteger(size) && Number(size) >= 0
}

/** Returns why contents differ from the manifest; undefined if they do not, or if the manifest is dynamic or unknown. */
export function findMismatch({ resources }: JsonObject, uri: string, contents: unknown): string | undefined {
  if (!Array.isArray(resources)) return undefined
  const file = resources.find(one => canonicalizeUri(readText(one, 'uri') ?? '') === canonicalizeUri(uri)) as unknown
  if (!isObject(file)) return 'it is not in the manifest of its skill'
  const [content, second] = Array.isArray(contents) ? (contents as unknown[]) : []
  if (second !== undefined || canonicalizeUri(readText(content, 'uri') ?? '') !== canonicalizeUri(uri))
    return 'the server answered with other contents'
  const bytes = readBytes(content)
  if (bytes === undefined) return 'it has no text and no valid base64, or both'
  const own = digest(bytes)
  if (own.size !== file.size) return `it has ${own.size} bytes, the manifest has ${String(file.size)}`
  return own.digest === file.digest ? undefined : `its digest is ${own.digest}, the manifest has ${String(file.digest)}`
}

function readBytes(content: unknown): Buffer | undefined {
  const [text, blob] = [readText(content, 'text'), readText(content, 'blob')]
  if (blob === undefined) return text === undefined ? undefined : Buffer.from(text)
  const bytes = Buffer.from(blob, 'base64')
  return text === undefined && bytes.toString('base64') === blob ? bytes : undefined
}
