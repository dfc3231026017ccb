import type { JsonObject } from './json/json.ts'
import { isObject } from './json/json.ts'

/** Longest URI that has a canonical form. */
const MAX_LENGTH = 8192

/** Control characters, backslashes, and blanks at an end: parsers drop or replace them, each in its own way. */
const UNCLEAR = /^ | $|[\\\p{Cc}]/u

/** RFC 3986, appendix B, without a fragment: no server sees one, or it takes it for a part of the name. */
const PARTS = /^([a-z][a-z0-9+.-]*):(\/\/[^/?#]*)?([^?#]*)(\?[^#]*)?$/is

const WEB: ReadonlySet<string> = new Set(['http', 'https', 'ws', 'wss', 'ftp'])

/** Matches no character. */
const NOTHING = /[^\s\S]/

/** Paths that are canonical as they stand: most are. */
const PLAIN =
  /^(?:file:\/\/(?=\/)|(?!file:|https?:|wss?:|ftp:)[a-z][a-z0-9+-]*:\/\/[\w~-]*)(?:\/[\w~-][\w.~-]*)*$/

/** Rules for the spelling of one part of a URI. */
interface EncodingRules {
  /** Characters that are decoded where they came encoded, as both mean the same. */
  readonly plain: RegExp
  /** Characters that keep the spelling they came in, as unencoded they mean something else. */
  readonly asIs: RegExp
  /** Characters that no rule can judge: a URI that has one, encoded or not, has no canonical form. */
  readonly bad: RegExp
}

/** An encoded slash is a part of a name to one and a separator to another; half a character has no encoding. */
const BAD = /[/\\\p{Cc}\p{Cs}]/u

const IN_PATH: EncodingRules = { plain: /[\w.~!$&'()*+,;=:@-]/, asIs: NOTHING, bad: BAD }

/** `&`, `=`, `+` and `;` separate there. */
const IN_QUERY: EncodingRules = { plain: /[\w.~!$'()*,:@/?-]/, asIs: NOTHING, bad: /[\0\p{Cs}]/u }

/** An address of IPv6 stands in brackets. */
const IN_AUTHORITY: EncodingRules = { plain: /[\w.~!$&'()*+,;=-]/, asIs: /[[\]]/, bad: BAD }

/**
 * The one spelling of a URI by which rules, caches and servers know it (RFC 3986, section 6); undefined for what has none:
 * no absolute URI, or a spelling that a server may read as another resource than a rule does.
 *
 * Beyond the RFC, all ways to write a local file are one, as file systems see them: `file:/x`, `file://localhost/x`,
 * `file:////x`. The authority of a scheme of somebody's own, such as `memo://Notes`, keeps its case: it may be a name.
 */
export function parseCanonicalUri(uri: string): string | undefined {
  if (uri.length > MAX_LENGTH) return undefined
  if (PLAIN.test(uri)) return uri
  const parts = UNCLEAR.test(uri) ? null : PARTS.exec(uri)
  return parts === null ? undefined : canonicalizeByScheme(parts)
}

function canonicalizeByScheme([, name = '', authority, path = '', query]: readonly (string | undefined)[]):
  string | undefined {
  const scheme = name.toLowerCase()
  if (scheme === 'file') return query === undefined ? canonicalizeFileUri(authority, path) : undefined
  // Some read what follows (RFC 3986, appendix C).
  if (scheme === 'url') return undefined
  if (WEB.has(scheme)) return canonicalizeWebUri(`${scheme}:${authority ?? ''}${path}`, query)
  return joinUri(`${scheme}:`, canonicalizeAuthority(authority), canonicalizePath(path), query)
}

/** The canonical form, or what has none as it is. */
export function canonicalizeUri(uri: string): string {
  return parseCanonicalUri(uri) ?? uri
}

function canonicalizeFileUri(authority: string | undefined, path: string): string | undefined {
  const host = canonicalizeAuthority(authority)?.slice(2).toLowerCase()
  // Many servers look at the path alone, whatever host stands in front of it.
  if ((host !== '' && host !== 'localhost') || (path !== '' && !path.startsWith('/'))) return undefined
  const own = canonicalizePath(path.replace(/\/{2,}/g, '/'))
  // `C|` is a drive to some.
  return own === undefined || /^\/[a-z]%7C/i.test(own) ? undefined : `file://${own === '' ? '/' : own}`
}

/** Hosts and ports have many forms there, which the URL Standard brings together. */
function canonicalizeWebUri(text: string, query: string | undefined): string | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, host, hostname, username, password, pathname } = new URL(text)
  if (username !== '' || password !== '' || hostname.endsWith('.')) return undefined
  return joinUri(protocol, `//${host}`, canonicalizePath(pathname), query)
}

function joinUri(
  scheme: string,
  ...[authority, path, query = '']: (string | undefined)[]
): string | undefined {
  const own = query === '' ? '' : normalizeEncoding(query.slice(1), IN_QUERY)
  if (authority === undefined || path === undefined || own === undefined) return undefined
  return scheme + authority + path + (query === '' ? '' : `?${own}`)
}

/** With its slashes; a port that is not there needs no colon. */
function canonicalizeAuthority(authority = ''): string | undefined {
  // A server that reads the host alone would find another resource than a rule.
  return authority.includes('@') ? undefined : normalizeEncoding(authority, IN_AUTHORITY)?.replace(/:$/, '')
}

function canonicalizePath(path: string): string | undefined {
  const own = normalizeEncoding(path, IN_PATH)
  // A `%` that was encoded, and two digits: what a server makes of it that decodes twice, no rule has seen.
  if (own === undefined || /%25[0-9a-f]{2}/i.test(own)) return undefined
  if (own.startsWith('/')) return removeDotSegments(own)
  return /(^|\/)\.\.?(\/|$)/.test(own) ? undefined : own
}

/** RFC 3986, section 5.2.4. */
function removeDotSegments(path: string): string {
  if (!path.includes('/.')) return path
  const segments: string[] = []
  const parts = path.slice(1).split('/')
  for (const part of parts) {
    if (part === '..') segments.pop()
    else if (part !== '.') segments.push(part)
  }
  const last = parts.at(-1)
  if (last === '.' || last === '..') segments.push('')
  return `/${segments.join('/')}`
}

/** A part with each character in one spelling: as itself where it may stand so, else encoded in upper case. */
function normalizeEncoding(part: string, { plain, asIs, bad }: EncodingRules): string | undefined {
  let isClear = true
  const text = part.replace(/(?:%[0-9a-f]{2})+|%|[^%\w.~!$&'()*+,;=:@/?-]+/gi, found => {
    const isEscaped = found.startsWith('%')
    const characters = isEscaped ? decodeEscapes(found) : found
    isClear &&= characters !== undefined && !bad.test(characters)
    return isClear ? normalizeEscapes(characters ?? '', isEscaped ? plain : asIs) : ''
  })
  return isClear ? text : undefined
}

function normalizeEscapes(characters: string, plain: RegExp): string {
  let text = ''
  for (const one of characters) text += plain.test(one) ? one : encodeCharacter(one)
  return text
}

/** Also what `encodeURIComponent` leaves as it is. */
function encodeCharacter(character: string): string {
  return /[!'()*]/.test(character)
    ? `%${character.charCodeAt(0).toString(16).toUpperCase()}`
    : encodeURIComponent(character)
}

/** Undefined for what is broken, or no UTF-8. */
function decodeEscapes(escapes: string): string | undefined {
  try {
    return decodeURIComponent(escapes)
  } catch {
    return undefined
  }
}

/**
 * A glob or a template in the spelling of the URIs that it is about: its scheme, the ways to write a local file, and what is
 * encoded. What is syntax of a glob or a template stays as it is.
 */
export function canonicalizePattern(pattern: string): string {
  const [, scheme = '', rest = pattern] = /^([a-z][a-z0-9+.-]*:)(.*)$/is.exec(pattern) ?? []
  const own = scheme.toLowerCase()
  const place =
    own === 'file:'
      ? rest.replace(/^(\/\/localhost)?\/+(?!\/)/i, '///')
      : WEB.has(own.slice(0, -1))
        ? rest.replace(/^\/\/[^/?#*[{]*/, authority => authority.toLowerCase())
        : rest
  return (
    own + place.replace(/(?:%[0-9a-f]{2})+|\\[[\]{}]|[^\u0021-\u007e]+|["<>^|`]+/gi, normalizePatternEscapes)
  )
}

function normalizePatternEscapes(found: string): string {
  const characters = found.startsWith('%') ? decodeEscapes(found) : found.replace('\\', '')
  return characters === undefined || /\p{Cs}/u.test(characters)
    ? found
    : normalizeEscapes(characters, IN_PATH.plain).replaceAll('*', '\\*')
}

/**
 * A URI, or a pattern of some, without what many servers do not tell apart: case of the authority, doubled slashes and one
 * at the end, and an authority that is empty. For what forbids alone.
 */
export function foldUri(text: string): string {
  const [, scheme = '', authority = '', path = '', rest = ''] =
    /^([a-z][a-z0-9+.-]*:)(\/\/[^/?#]*)?([^?#]*)(.*)$/is.exec(text) ?? []
  if (scheme === '') return text
  const host = authority === '//' && scheme !== 'file:' ? '' : authority.toLowerCase()
  return scheme + host + path.replace(/\/{2,}/g, '/').replace(host === '' ? /(?<=.)\/$/ : /\/$/, '') + rest
}

/**
 * A URI of a custom scheme with its authority as a server may read it: without user, port and a dot at the end, and in lower
 * case. Rules that forbid check this form, too.
 */
export function normalizeAuthority(uri: string): string {
  const [, scheme = '', authority = '', rest = ''] =
    /^([a-z][a-z0-9+.-]*:)\/\/([^/?#]*)(.*)$/is.exec(uri) ?? []
  if (authority === '' || WEB.has(scheme.slice(0, -1).toLowerCase())) return uri
  const host = authority.replace(/^.*@/s, '').replace(/:\d*$/, '').replace(/\.$/, '')
  return `${scheme.toLowerCase()}//${host.toLowerCase()}${rest}`
}

/** Tells whether a browser may be sent to a URL: http and https only, as others may run code or read files. */
export function isWebUrl(url: unknown): boolean {
  return getScheme(url) === 'https:' || getScheme(url) === 'http:'
}

/** Tells whether an icon may be loaded from a URL (2025-11-25, "Icons": consumers reject unsafe schemes). */
function isSafeIcon(source: unknown): boolean {
  return isWebUrl(source) || (typeof source === 'string' && /^data:image\/[\w.+-]+[;,]/i.test(source))
}

/** The scheme as a browser reads it: without the blanks and line ends that may hide it. */
function getScheme(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).protocol : undefined
}

/** The entry of a list without icons that no client should load; the same entry where there are none. */
export function removeUnsafeIcons(entry: JsonObject): JsonObject {
  const { icons } = entry
  if (!Array.isArray(icons)) return entry
  const safe = (icons as unknown[]).filter(icon => isObject(icon) && isSafeIcon(icon.src))
  if (safe.length === icons.length) return entry
  const { icons: _unsafe, ...rest } = entry
  return safe.length === 0 ? rest : { ...rest, icons: safe }
}
