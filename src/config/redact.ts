import { isPlain, setOwn } from '../util/plain.ts'
import { pointerTo } from '../util/pointer.ts'
import { isSecretPath } from './keys.ts'

const HIDDEN = '***'

/** The same data with every secret replaced by `***`. */
export function redact(config: unknown, secrets: readonly string[]): unknown {
  return redacted(config, '', secrets)
}

/** A text with every secret in it replaced by `***`. */
export function hide(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), text)
}

/** Hides the secrets in any text, also as they stand in JSON, base64, hex and URLs. */
export function hider(secrets: readonly string[]): (text: string) => string {
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length)
  return forms.length === 0 ? text => text : text => hide(text, forms)
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const encoded = [bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')]
  const bare = encoded.map(text => text.replace(/=+$/, ''))
  const written = [JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())]
  return [secret, ...written, ...bare, bytes.toString('hex').toUpperCase()]
}

function redacted(value: unknown, pointer: string, secrets: readonly string[]): unknown {
  if (isSecretPath(pointer)) return HIDDEN
  if (typeof value === 'string') return hide(value, secrets)
  if (Array.isArray(value)) return value.map((item, i) => redacted(item, pointerTo(pointer, i), secrets))
  if (!isPlain(value)) return value
  const shown: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value))
    setOwn(shown, hide(key, secrets), redacted(inner, pointerTo(pointer, key), secrets))
  return shown
}
