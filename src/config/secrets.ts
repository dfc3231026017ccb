import { appendPointer } from '../util/finding.ts'
import { isPlain, setOwn } from '../util/plain-data.ts'
import { decodePercent } from '../util/plain-text.ts'
import type { HideSecrets } from '../util/secrets.ts'
import { HIDDEN, isSecretName, isWorthHiding, Secrets } from '../util/secrets.ts'
import { isSecretPath } from './schema-messages.ts'

const URL_START = /^[a-z][a-z\d+.-]*:\/\//i
const SCHEME = /^(?:Bearer|Basic|Token|Digest|ApiKey)\s+(\S.*)$/i
const FLAG = /^--?([\w-]+)(?:=(.*))?$/s
/** Plugin schemas are not loaded yet, so secrets are detected by option name. */
const PLUGIN_OPTION = /^\/plugins\/[^/]*\/options\//
/** Headers from this length count as credentials. */
const MIN_HEADER_LENGTH = 8
/** Content negotiation headers, never credentials. */
const PLAIN_HEADER = /^(?:accept(?:-.*)?|content-.*|user-agent|origin|referer)$/i
/** Long path segments with digits are likely keys. */
const KEY_SEGMENT = /^(?=.*\d)(?=.*[a-z])[\w~-]{20,}$/i

/** Collects literal secrets from headers, variables, URLs and arguments. */
export function collectSecrets(config: unknown): string[] {
  const secrets = new Set<string>()
  collect(config, { pointer: '', name: '', isSecret: false }, value => void secrets.add(value))
  return [...secrets]
}

type SecretCallback = (value: string) => void

interface ConfigValue {
  readonly pointer: string
  /** Nearest enclosing key. */
  readonly name: string
  readonly isSecret: boolean
}

function collect(value: unknown, location: ConfigValue, addSecret: SecretCallback): void {
  if (typeof value === 'string') return collectFromText(value, location, addSecret)
  if (Array.isArray(value)) collectFromArguments(value, addSecret)
  else if (!isPlain(value)) return
  for (const [key, inner] of Object.entries(value)) {
    const pointer = appendPointer(location.pointer, key)
    const name = Array.isArray(value) ? location.name : key
    collect(inner, { pointer, name, isSecret: location.isSecret || isSecretPath(pointer) }, addSecret)
  }
}

function collectFromText(text: string, { pointer, name, isSecret }: ConfigValue, addSecret: SecretCallback): void {
  if (URL_START.test(text)) collectFromUrl(text, addSecret)
  if (PLUGIN_OPTION.test(pointer) && isSecretName(name)) addSecret(text)
  if (!isSecret) return
  if (pointer.includes('/headers/')) collectFromHeader(name, text, addSecret)
  else if (isWorthHiding(name, text)) addSecret(text)
}

function collectFromHeader(name: string, text: string, addSecret: SecretCallback): void {
  if (PLAIN_HEADER.test(name)) return
  const credential = SCHEME.exec(text)?.[1] ?? text
  if (isSecretName(name) || credential.length >= MIN_HEADER_LENGTH) addSecret(credential)
  if (/^basic\s/i.test(text)) collectFromBasic(credential, addSecret)
}

function collectFromBasic(credential: string, addSecret: SecretCallback): void {
  const pair = Buffer.from(credential, 'base64').toString('utf8')
  addSecret(pair)
  addSecret(pair.slice(pair.indexOf(':') + 1))
}

function collectFromUrl(text: string, addSecret: SecretCallback): void {
  const url = URL.parse(text)
  if (url === null) return
  const { username, password } = url
  // A user name without a password is a token.
  const secret = password === '' ? username : password
  for (const form of [secret, decodePercent(secret)]) if (isWorthHiding('password', form)) addSecret(form)
  if (password !== '') addSecret(`${decodePercent(username)}:${decodePercent(password)}`)
  for (const [key, value] of url.searchParams) if (isWorthHiding(key, value)) addSecret(value)
  for (const segment of url.pathname.split('/')) if (KEY_SEGMENT.test(segment)) addSecret(segment)
}

/** Handles `--api-key=…` and `--api-key …`. */
function collectFromArguments(items: readonly unknown[], addSecret: SecretCallback): void {
  items.forEach((item, i) => {
    if (typeof item !== 'string') return
    const [, flag = '', value = items[i + 1]] = FLAG.exec(item) ?? []
    if (isSecretName(flag) && typeof value === 'string' && !value.startsWith('-')) addSecret(value)
  })
}

/** Replaces every secret with `***`. */
export function redact(config: unknown, secrets: readonly string[]): unknown {
  return redactValue(config, '', new Secrets(secrets).hide)
}

function redactValue(value: unknown, pointer: string, hide: HideSecrets): unknown {
  if (isSecretPath(pointer)) return HIDDEN
  if (typeof value === 'string') return hide(value)
  if (Array.isArray(value)) return value.map((item, i) => redactValue(item, appendPointer(pointer, i), hide))
  if (!isPlain(value)) return value
  const result: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value))
    setOwn(result, hide(key), redactValue(inner, appendPointer(pointer, key), hide))
  return result
}
