import type { Log } from '../core/ports.ts'

/** Shorter values are words such as `production`, and hiding them would make a log unreadable. */
const LONG = 12
const SHORT = 4
const SECRET_NAME = /token|key|secret|pass|pwd|auth|credential|cookie|dsn|private/i
const HIDDEN = '***'

/** Takes what must not be shown out of a text. */
export type Conceal = (text: string) => string

/** Hides the values of these variables, as they are and in the forms that servers print them in. */
export function concealing(variables: Readonly<Record<string, string>>): Conceal {
  const secrets = Object.entries(variables)
    .filter(([name, value]) => value.length >= (SECRET_NAME.test(name) ? SHORT : LONG))
    .flatMap(([, value]) => formsOf(value))
    // A longer one may hold a shorter one.
    .sort((a, b) => b.length - a.length)
  if (secrets.length === 0) return text => text
  return text => secrets.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), text)
}

function formsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  const forms = [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    bytes.toString('base64'),
    bytes.toString('base64url'),
    bytes.toString('hex'),
    // A server that prints many lines of one value.
    ...value.split(/\r?\n/).filter(line => line.length >= LONG),
  ]
  return [...new Set(forms)].filter(form => form.length >= SHORT)
}

/** The same log, without what must not be shown. */
export function concealed(log: Log, conceal: Conceal): Log {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, fields?: Record<string, unknown>) =>
      log[level](conceal(message), fields === undefined ? undefined : concealedFields(fields, conceal))
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: fields => concealed(log.child(concealedFields(fields, conceal)), conceal),
  }
}

function concealedFields(fields: Record<string, unknown>, conceal: Conceal): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === 'string' ? conceal(value) : value]),
  )
}
