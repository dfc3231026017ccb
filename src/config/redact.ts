import { isPlain, setOwn } from '../util/plain-data.ts'
import { pointerTo } from '../util/finding.ts'
import { HIDDEN, Secrets, type Hide } from '../util/secrets.ts'
import { isSecretPath } from './keys.ts'

/** The same data with every secret replaced by `***`. */
export function redact(config: unknown, secrets: readonly string[]): unknown {
  return redacted(config, '', new Secrets(secrets).hide)
}

function redacted(value: unknown, pointer: string, hide: Hide): unknown {
  if (isSecretPath(pointer)) return HIDDEN
  if (typeof value === 'string') return hide(value)
  if (Array.isArray(value)) return value.map((item, i) => redacted(item, pointerTo(pointer, i), hide))
  if (!isPlain(value)) return value
  const shown: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value))
    setOwn(shown, hide(key), redacted(inner, pointerTo(pointer, key), hide))
  return shown
}
