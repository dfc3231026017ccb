import { parseAppUri, toAppUri } from './app-uri.ts'
import type { JsonObject } from './json/json.ts'
import { isObject } from './json/json.ts'

/** Maximum URI length with a canonical form. */
const MAX_LENGTH = 8192

/** Control characters, backslashes and outer blanks, which parsers drop or replace inconsistently. */
const UNCLEAR = /^ | $|[\\\p{Cc}]/u

/** RFC 3986, appendix B, without a fragment, which servers ignore or treat as part of the name. */
const PARTS = /^([a-z][a-z0-9+.-]*):(\/\/[^/?#]*)?([^?#]*)(\?[^#]*)?$/is

const WEB: ReadonlySet<string> = new Set(['http', 'https', 'ws', 'wss', 'ftp'])

/** Matches no character. */
const NOTHING = /[^\s\S]/

/** Paths that are already canonical, as most are. */
const PLAIN = /^(?:file:\/\/(?=\/)|(?!file:|https?:|wss?:|ftp:)[a-z][a-z0-9+-]*:\/\/[\w~-]*)(?:\/[\w~-][\w.~-]*)*$/

/** Encoding rules for one URI component. */
interface EncodingRules {
  /** Characters to decode, as both forms are equivalent. */
  readonly plain: RegExp
  /** Characters that keep their form, as decoding changes the meaning. */
  readonly asIs: RegExp
  /** Forbidden characters: a URI with one, encoded or not, has no canonical form. */
  readonly bad: RegExp
}

/** Some servers treat an encoded slash as part of a name, others as a separator; half a character has no encoding. */
const BAD = /[/\\\p{Cc}\p{Cs}]/u

const IN_PATH: EncodingRules = { plain: /[\w.~!$&'()*+,;=:@-]/, asIs: NOTHING, bad: BAD }

/** `&`, `=`, `+` and `;` are separators in a query. */
const IN_QUERY: EncodingRules = { plain: /[\w.~!$'()*,:@/?-]/, asIs: NOTHING, bad: /[\0\p{Cs}]/u }

/** IPv6 addresses are in brackets. */
const IN_AUTHORITY: EncodingRules = { plain: /[\w.~!$&'()*+,;=-]/, asIs: /[[\]]/, bad: BAD }

/**
 * Returns the canonical form of a URI for policies, caches and servers (RFC 3986, section 6); undefined if it is not
 * absolute,
 * or if a server may read its spelling as a different resource.
 *
 * Beyond the RFC, all spellings of a local file are equal: `file:/x`, `file://localhost/x`, `file:////x`. The
 * authority
 * of a custom scheme, such as `memo://Notes`, keeps its case, as it may be a name.
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
  // Some parsers strip a `url:` prefix (RFC 3986, appendix C).
  if (scheme === 'url') return undefined
  if (WEB.has(scheme)) return canonicalizeWebUri(`${scheme}:${authority ?? ''}${path}`, query)
  const uri = joinUri(`${scheme}:`, canonicalizeAuthority(authority), canonicalizePath(path), query)
  return scheme === 'ui' && uri !== undefined ? canonicalizeAppUri(uri) : uri
}

/** The server's own URI, which rules read and the server gets, must be canonical too. */
function canonicalizeAppUri(uri: string): string | undefined {
  const app = parseAppUri(uri)
  const own = app && parseCanonicalUri(app.uri)
  return app === undefined ? uri : own && toAppUri(app.upstream, own)
}

/** Returns the canonical form, or the URI unchanged if it has none. */
export function canonicalizeUri(uri: string): string {
  return parseCanonicalUri(uri) ?? uri
}

function canonicalizeFileUri(authority: string | undefined, path: string): string | undefined {
  const host = canonicalizeAuthority(authority)?.slice(2).toLowerCase()
  // Many servers use the path only and ignore the host.
  if ((host !== '' && host !== 'localhost') || (path !== '' && !path.startsWith('/'))) return undefined
  const own = canonicalizePath(path.replace(/\/{2,}/g, '/'))
  // Some systems read `C|` as a drive.
  return own === undefined || /^\/[a-z]%7C/i.test(own) ? undefined : `file://${own === '' ? '/' : own}`
}

/** Web hosts and ports have many forms; the URL Standard normalizes them. */
function canonicalizeWebUri(text: string, query: string | undefined): string | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, host, hostname, username, password, pathname } = new URL(text)
  if (username !== '' || password !== '' || hostname.endsWith('.')) return undefined
  return joinUri(protocol, `//${host}`, canonicalizePath(pathname), query)
}

function joinUri(scheme: string, ...[authority, path, query = '']: (string | undefined)[]): string | undefined {
  const own = query === '' ? '' : normalizeEncoding(query.slice(1), IN_QUERY)
  if (authority === undefined || path === undefined || own === undefined) return undefined
  return scheme + authority + path + (query === '' ? '' : `?${own}`)
}

/** Canonicalizes the authority with its slashes; an empty port loses its colon. */
function canonicalizeAuthority(authority = ''): string | undefined {
  // A server that reads only the host would find a different resource than a rule.
  return authority.includes('@') ? undefined : normalizeEncoding(authority, IN_AUTHORITY)?.replace(/:$/, '')
}

function canonicalizePath(path: string): string | undefined {
  const own = normalizeEncoding(path, IN_PATH)
  // An encoded `%` before two digits: a server that decodes twice would bypass the rules.
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

/** Normalizes each character: decoded if allowed, else percent-encoded in upper case. */
function normalizeEncoding(part: string, { plain, asIs, bad }: EncodingRules): string | undefined {
  let isClear = true
  const text = part.replace(/(?:%[0-9a-f]{2})+|%|[^%\w.~!$&'()*+,;=:@/?-]+/gi, match => {
    const isEscaped = match.startsWith('%')
    const characters = isEscaped ? decodeEscapes(match) : match
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

/** Also encodes characters that `encodeURIComponent` leaves unchanged. */
function encodeCharacter(character: string): string {
  return /[!'()*]/.test(character)
    ? `%${character.charCodeAt(0).toString(16).toUpperCase()}`
    : encodeURIComponent(character)
}

/** Decodes percent escapes; undefined if invalid or not UTF-8. */
function decodeEscapes(escapes: string): string | undefined {
  try {
    return decodeURIComponent(escapes)
  } catch {
    return undefined
  }
}

/**
 * Canonicalizes a glob or template like the URIs it matches: scheme, local file spelling and encoding. Glob and
 * template syntax is unchanged.
 */
export function canonicalizePattern(pattern: string): string {
  const [, scheme = '', rest = pattern] = /^([a-z][a-z0-9+.-]*:)(.*)$/is.exec(pattern) ?? []
  const own = scheme.toLowerCase()
  const location =
    own === 'file:'
      ? rest.replace(/^(\/\/localhost)?\/+(?!\/)/i, '///')
      : WEB.has(own.slice(0, -1))
        ? rest.replace(/^\/\/[^/?#*[{]*/, authority => authority.toLowerCase())
        : rest
  return own + location.replace(/(?:%[0-9a-f]{2})+|\\[[\]{}]|[^\u0021-\u007e]+|["<>^|`]+/gi, normalizePatternEscapes)
}

function normalizePatternEscapes(match: string): string {
  const characters = match.startsWith('%') ? decodeEscapes(match) : match.replace('\\', '')
  return characters === undefined || /\p{Cs}/u.test(characters)
    ? match
    : normalizeEscapes(characters, IN_PATH.plain).replaceAll('*', '\\*')
}

/**
 * Folds differences in a URI or pattern that many servers ignore: authority case, duplicate and trailing slashes, an
 * empty authority. For forbidding rules only.
 */
export function foldUri(text: string): string {
  const [, scheme = '', authority = '', path = '', rest = ''] =
    /^([a-z][a-z0-9+.-]*:)(\/\/[^/?#]*)?([^?#]*)(.*)$/is.exec(text) ?? []
  if (scheme === '') return text
  const host = authority === '//' && scheme !== 'file:' ? '' : authority.toLowerCase()
  return scheme + host + path.replace(/\/{2,}/g, '/').replace(host === '' ? /(?<=.)\/$/ : /\/$/, '') + rest
}

/**
 * Normalizes the authority of a custom-scheme URI as a server may read it: without user, port and trailing dot, in
 * lower case. For forbidding rules only.
 */
export function normalizeAuthority(uri: string): string {
  const [, scheme = '', authority = '', rest = ''] = /^([a-z][a-z0-9+.-]*:)\/\/([^/?#]*)(.*)$/is.exec(uri) ?? []
  if (authority === '' || WEB.has(scheme.slice(0, -1).toLowerCase())) return uri
  const host = authority.replace(/^.*@/s, '').replace(/:\d*$/, '').replace(/\.$/, '')
  return `${scheme.toLowerCase()}//${host.toLowerCase()}${rest}`
}

/** Returns true for http and https URLs, which are safe to open in a browser; others may run code or read files. */
export function isWebUrl(url: unknown): boolean {
  return getScheme(url) === 'https:' || getScheme(url) === 'http:'
}

/** Returns true if an icon URL is safe to load (2025-11-25, "Icons": consumers reject unsafe schemes). */
function isSafeIcon(source: unknown): boolean {
  return isWebUrl(source) || (typeof source === 'string' && /^data:image\/[\w.+-]+[;,]/i.test(source))
}

/** Returns the scheme as a browser reads it, without blanks and line breaks that may hide it. */
function getScheme(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).protocol : undefined
}

/** Removes icons with unsafe URLs from a list entry; returns the same entry if there are none. */
export function removeUnsafeIcons(entry: JsonObject): JsonObject {
  const { icons } = entry
  if (!Array.isArray(icons)) return entry
  const safe = (icons as unknown[]).filter(icon => isObject(icon) && isSafeIcon(icon.src))
  if (safe.length === icons.length) return entry
  const { icons: _unsafe, ...withoutIcons } = entry
  return safe.length === 0 ? withoutIcons : { ...withoutIcons, icons: safe }
}
